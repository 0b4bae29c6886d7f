/** The initial tables. Times are timestamptz; ids are the API's own. */
import type { Knex } from 'knex'

/** Creates the tables. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE accounts (id text PRIMARY KEY, name text NOT NULL, type text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE api_keys (id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, secret_hash bytea NOT NULL, scopes text[] NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), revoked_at timestamptz);
    CREATE UNIQUE INDEX api_keys_name ON api_keys (account_id, name) WHERE revoked_at IS NULL;

    -- json, not jsonb: it keeps the order of members, and accepts \\u0000 in a client's config.
    CREATE TABLE streams (id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, description text NOT NULL, schema json NOT NULL, status text NOT NULL,
      status_reason text, partitions int NOT NULL, retention_ms bigint NOT NULL, compatibility text NOT NULL, format text NOT NULL, key_field text, schema_id int, topic text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    -- A stream that is being deleted keeps its row until its topic is gone, but not its name.
    CREATE UNIQUE INDEX streams_name ON streams (account_id, name) WHERE status <> 'deleting';
    CREATE INDEX streams_unfinished ON streams (updated_at) WHERE status IN ('creating', 'deleting');
    -- Sparse: about every thousand records, how many records precede an offset.
    CREATE TABLE stream_index (stream_id text NOT NULL REFERENCES streams ON DELETE CASCADE, partition int NOT NULL, records bigint NOT NULL, first_offset bigint NOT NULL,
      PRIMARY KEY (stream_id, partition, records));
    CREATE TABLE stream_index_heads (stream_id text NOT NULL REFERENCES streams ON DELETE CASCADE, partition int NOT NULL, records bigint NOT NULL, next_offset bigint NOT NULL,
      PRIMARY KEY (stream_id, partition));

    CREATE TABLE smartmodule_binaries (sha256 text PRIMARY KEY, content bytea NOT NULL, is_published boolean NOT NULL DEFAULT false);
    -- account_id is null for the built-ins, which every account may use.
    CREATE TABLE smartmodules (id text PRIMARY KEY, account_id text REFERENCES accounts, name text NOT NULL, description text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
    CREATE UNIQUE INDEX smartmodules_name ON smartmodules (coalesce(account_id, ''), name);
    CREATE TABLE smartmodule_versions (smartmodule_id text NOT NULL REFERENCES smartmodules ON DELETE CASCADE, version text NOT NULL, ordinal int NOT NULL, sha256 text NOT NULL REFERENCES smartmodule_binaries,
      kind text NOT NULL, extism_function text, input_format text NOT NULL, output_format text NOT NULL, config json NOT NULL, bytes int NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (smartmodule_id, version), UNIQUE (smartmodule_id, ordinal));

    CREATE TABLE pipelines (id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, description text NOT NULL, status text NOT NULL, status_reason text, desired text NOT NULL,
      revision int NOT NULL, attempt int NOT NULL, request json NOT NULL, definition json NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE UNIQUE INDEX pipelines_name ON pipelines (account_id, name) WHERE status <> 'deleting';
    CREATE INDEX pipelines_unfinished ON pipelines (updated_at) WHERE status IN ('creating', 'deleting');
    -- What a pipeline uses, and what therefore can't be deleted.
    CREATE TABLE pipeline_uses (pipeline_id text NOT NULL REFERENCES pipelines ON DELETE CASCADE, kind text NOT NULL, used_id text NOT NULL, PRIMARY KEY (pipeline_id, kind, used_id));
    CREATE INDEX pipeline_uses_used ON pipeline_uses (kind, used_id);

    CREATE TABLE observed_tasks (pipeline_id text NOT NULL, task int NOT NULL, body json NOT NULL, PRIMARY KEY (pipeline_id, task));
    CREATE TABLE projector_positions (name text PRIMARY KEY, next_offset bigint NOT NULL);
    -- Published to dps.definitions in the order of id, then removed; a null value is a tombstone.
    CREATE TABLE outbox (id bigserial PRIMARY KEY, key text NOT NULL, value bytea);

    CREATE TABLE idempotency_keys (account_id text NOT NULL, key text NOT NULL, fingerprint text NOT NULL, status int, headers json, body json, created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (account_id, key));
    CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
  `)
}

/** Drops the tables. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    'DROP TABLE idempotency_keys, outbox, projector_positions, observed_tasks, pipeline_uses, pipelines, smartmodule_versions, smartmodules, smartmodule_binaries, stream_index_heads, stream_index, streams, api_keys, accounts',
  )
}
