/** Which process publishes the outbox, and what an unresolved write under an Idempotency-Key began with. */
import type { Knex } from 'knex'

/** Creates the table `publisher`, and adds the columns. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE publisher (name text PRIMARY KEY, process text NOT NULL);
    -- begun: the producer and partition of a write with an unknown result; a repeat uses them, so that the broker recognises the write.
    ALTER TABLE idempotency_keys ADD begun json, ADD in_doubt boolean NOT NULL DEFAULT false;
  `)
}

/** Drops the columns and the table `publisher`. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE idempotency_keys DROP begun, DROP in_doubt; DROP TABLE publisher')
}
