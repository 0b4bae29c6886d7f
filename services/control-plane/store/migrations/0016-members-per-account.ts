/** An address may be a member of several accounts; a provider signs in only to those that the person has confirmed with it. */
import type { Knex } from 'knex'

/**
 * The account that had added an address first had it for all accounts, and it need not have been the person's own. So no member counts as
 * confirmed, not even one who has signed in before.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE members DROP CONSTRAINT members_email_key;
    CREATE UNIQUE INDEX members_email ON members (email, account_id);
    -- When someone who was signed in as the member has proven the address to the OpenID Connect provider.
    ALTER TABLE members ADD provider_confirmed_at timestamptz(3)`)
}

/** Keeps of each address the oldest membership alone. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM members WHERE id NOT IN (SELECT DISTINCT ON (email) id FROM members ORDER BY email, created_at, id);
    ALTER TABLE members DROP provider_confirmed_at;
    DROP INDEX members_email;
    ALTER TABLE members ADD CONSTRAINT members_email_key UNIQUE (email)`)
}
