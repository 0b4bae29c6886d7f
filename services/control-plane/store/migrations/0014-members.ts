/** Members of accounts, who sign in to the console: their sessions, and links that sign in once. */
import type { Knex } from 'knex'

/** Creates the tables. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE members (
      id text PRIMARY KEY,
      account_id text NOT NULL REFERENCES accounts ON DELETE CASCADE,
      name text NOT NULL,
      -- In lower case: a member signs in with it, so it belongs to one account.
      email text NOT NULL UNIQUE,
      role text NOT NULL,
      -- Until a password is set, only a link signs in.
      password_hash text,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      updated_at timestamptz(3) NOT NULL DEFAULT now()
    );
    CREATE INDEX members_account ON members (account_id, created_at, id);
    -- Sessions and links are stored as keyed hashes of their tokens.
    CREATE TABLE sessions (
      token_hash bytea PRIMARY KEY,
      member_id text NOT NULL REFERENCES members ON DELETE CASCADE,
      expires_at timestamptz(3) NOT NULL
    );
    CREATE INDEX sessions_member ON sessions (member_id);
    CREATE TABLE sign_in_links (
      token_hash bytea PRIMARY KEY,
      member_id text NOT NULL REFERENCES members ON DELETE CASCADE,
      expires_at timestamptz(3) NOT NULL
    );
    CREATE INDEX sign_in_links_member ON sign_in_links (member_id)`)
}

/** Drops the tables. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE sign_in_links; DROP TABLE sessions; DROP TABLE members')
}
