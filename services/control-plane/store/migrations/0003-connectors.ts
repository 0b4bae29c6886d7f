/** Secrets of accounts. */
import type { Knex } from 'knex'

/** Creates the table `secrets`. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE secrets (id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, description text NOT NULL, envelope json NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(), UNIQUE (account_id, name));
  `)
}

/** Drops the table `secrets`. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE secrets')
}
