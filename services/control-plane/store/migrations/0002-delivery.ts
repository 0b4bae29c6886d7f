/** Revisions, the ledger, dead letters and jobs. */
import type { Knex } from 'knex'

/** Creates the tables, with the current revision of every pipeline. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Every revision is kept: explain runs a record through the one that handled it.
    CREATE TABLE pipeline_revisions (pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, revision int NOT NULL, definition json NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (pipeline_id, revision));
    INSERT INTO pipeline_revisions (pipeline_id, revision, definition, created_at) SELECT id, revision, definition, created_at FROM pipelines;

    -- The projection of dps.ledger.
    CREATE TABLE ledger (pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, partition int NOT NULL, revision int NOT NULL, from_offset bigint NOT NULL, at timestamptz NOT NULL,
      PRIMARY KEY (pipeline_id, partition, revision));

    -- Projection of the dead-letter topics: letter_partition, letter_offset are of the topic; partition, record_offset of the source.
    CREATE TABLE dead_letters (pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, letter_partition int NOT NULL, letter_offset bigint NOT NULL, partition int NOT NULL,
      record_offset bigint NOT NULL, step int NOT NULL, module text NOT NULL, version text NOT NULL, revision int NOT NULL, error_code text NOT NULL, error_message text NOT NULL, attempts int NOT NULL,
      redrives int NOT NULL, failed_at timestamptz NOT NULL, key bytea, value bytea, headers json NOT NULL, status text NOT NULL DEFAULT 'pending', job_id text,
      PRIMARY KEY (pipeline_id, letter_partition, letter_offset));
    CREATE INDEX dead_letters_time ON dead_letters (pipeline_id, failed_at, letter_partition, letter_offset);
    CREATE INDEX dead_letters_record ON dead_letters (pipeline_id, partition, record_offset);
    CREATE INDEX dead_letters_job ON dead_letters (job_id) WHERE job_id IS NOT NULL;
    CREATE TABLE dead_letter_positions (pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, partition int NOT NULL, next_offset bigint NOT NULL, PRIMARY KEY (pipeline_id, partition));

    CREATE TABLE jobs (id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, name text NOT NULL, kind text NOT NULL,
      status text NOT NULL, status_reason text, revision int NOT NULL, total bigint NOT NULL, definition json NOT NULL, records json NOT NULL, progress double precision NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX jobs_account ON jobs (account_id, created_at);
    CREATE INDEX jobs_unfinished ON jobs (updated_at) WHERE status IN ('starting', 'running', 'cancelling');
  `)
}

/** Drops the tables. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE jobs, dead_letter_positions, dead_letters, ledger, pipeline_revisions')
}
