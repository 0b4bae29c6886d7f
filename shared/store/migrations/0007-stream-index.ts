/** Which topic the index of a stream's records is of and since when: a topic that was made anew, or is compacted, is counted again. */
import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE streams ADD is_compacted boolean NOT NULL DEFAULT false;
    -- What was counted before is counted once more: of which topic it was is not known.
    ALTER TABLE stream_index_heads ADD topic_id text NOT NULL DEFAULT '', ADD built_at timestamptz;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE stream_index_heads DROP topic_id, DROP built_at; ALTER TABLE streams DROP is_compacted')
}
