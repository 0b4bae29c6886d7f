/** Who publishes the outbox, and what an unresolved write under an Idempotency-Key has begun with. */
import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE publisher (name text PRIMARY KEY, process text NOT NULL);
    -- begun: the producer and partition of a write whose answer is not known; it is repeated with them, so that the broker knows it again.
    ALTER TABLE idempotency_keys ADD begun json, ADD in_doubt boolean NOT NULL DEFAULT false;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE idempotency_keys DROP begun, DROP in_doubt; DROP TABLE publisher')
}
