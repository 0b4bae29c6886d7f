/** Sets of manifests: which streams, SmartModules and pipelines a set owns. */
import type { Knex } from 'knex'

/** Creates the table. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE manifest_members (
      account_id text NOT NULL REFERENCES accounts ON DELETE CASCADE,
      kind text NOT NULL,
      -- A resource that is deleted leaves its row: ids are never used again.
      resource_id text NOT NULL,
      set_name text NOT NULL,
      -- Of a SmartModule that was given as a binary: the binary's hash, and the version that it became.
      fingerprint text,
      PRIMARY KEY (account_id, kind, resource_id)
    )`)
}

/** Drops the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE manifest_members')
}
