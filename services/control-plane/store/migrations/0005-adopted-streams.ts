/** Streams whose schema came from the registry, and streams that adopted an existing topic. */
import type { Knex } from 'knex'

/** Adds the columns. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- batch_bytes_max: the limit of an adopted topic; null means the service's own limit.
    ALTER TABLE streams ADD is_adopted boolean NOT NULL DEFAULT false, ADD schema_text json, ADD batch_bytes_max int;
    ALTER TABLE stream_schemas ADD schema_text json;
    CREATE INDEX streams_adopted ON streams (id) WHERE is_adopted;
  `)
}

/** Drops the columns. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE stream_schemas DROP schema_text;
    ALTER TABLE streams DROP batch_bytes_max, DROP schema_text, DROP is_adopted;
  `)
}
