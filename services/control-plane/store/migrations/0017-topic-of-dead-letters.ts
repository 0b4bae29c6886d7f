/** The topic that a dead letter's record is in, and the positions that were set while a pipeline was stopped. */
import type { Knex } from 'knex'

/** Dead letters that are stored already keep an unknown topic. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE dead_letters ADD topic_id text;
    CREATE INDEX dead_letters_open ON dead_letters (pipeline_id, partition, record_offset) WHERE status IN ('pending', 'redriving');
    -- The last one set of each partition, while the dead letters at or after it may be of records that the pipeline handles again.
    CREATE TABLE position_resets (
      pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE,
      partition int NOT NULL,
      topic_id text NOT NULL,
      from_offset bigint NOT NULL,
      -- The first revision that goes on from there.
      revision int NOT NULL,
      PRIMARY KEY (pipeline_id, partition)
    )`)
}

/** Drops the table and the column. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE position_resets; DROP INDEX dead_letters_open; ALTER TABLE dead_letters DROP topic_id')
}
