/** Which topic a stream's index counts, and since when: a topic that was recreated, or is compacted, is counted again. */
import type { Knex } from 'knex'

/** Adds the columns. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE streams ADD is_compacted boolean NOT NULL DEFAULT false;
    -- Existing counts are repeated, because it is not known which topic they are of.
    ALTER TABLE stream_index_heads ADD topic_id text NOT NULL DEFAULT '', ADD built_at timestamptz;
  `)
}

/** Drops the columns. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE stream_index_heads DROP topic_id, DROP built_at; ALTER TABLE streams DROP is_compacted')
}
