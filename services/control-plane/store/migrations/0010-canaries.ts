/** Canaries: versions that run beside a pipeline's step, and what they have found. */
import type { Knex } from 'knex'

/** Adds the table. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE canaries (
      pipeline_id text PRIMARY KEY REFERENCES pipelines ON DELETE CASCADE,
      account_id text NOT NULL REFERENCES accounts ON DELETE CASCADE,
      step integer NOT NULL,
      definition json NOT NULL,
      max_failing double precision NOT NULL,
      max_differing double precision NOT NULL,
      status text NOT NULL,
      status_reason text,
      positions json NOT NULL,
      compared bigint NOT NULL DEFAULT 0,
      differing bigint NOT NULL DEFAULT 0,
      failed bigint NOT NULL DEFAULT 0,
      skipped bigint NOT NULL DEFAULT 0,
      examples json NOT NULL,
      -- In milliseconds, because it tells canaries apart and JavaScript's dates have no more.
      created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
      updated_at timestamptz NOT NULL DEFAULT now(),
      looked_at timestamptz NOT NULL DEFAULT now()
    )`)
}

/** Drops the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE canaries')
}
