/** Every schema that a stream has had, by the id in its values' frames. */
import type { Knex } from 'knex'

/** Creates the table `stream_schemas`, with the current schema of every stream. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE stream_schemas (stream_id text NOT NULL REFERENCES streams ON DELETE CASCADE, schema_id int NOT NULL, schema json NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (stream_id, schema_id));
    INSERT INTO stream_schemas (stream_id, schema_id, schema) SELECT id, schema_id, schema FROM streams WHERE schema_id IS NOT NULL;
  `)
}

/** Drops the table `stream_schemas`. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE stream_schemas')
}
