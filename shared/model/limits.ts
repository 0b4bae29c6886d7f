/** Limits of the HTTP surface (docs/limits.md). Sizes in bytes. */
export const LIMITS = {
  body_bytes_max: 1 << 20,
  smartmodule_body_bytes_max: 16 << 20,
  nesting_max: 32,
  name_characters_max: 200,
  description_characters_max: 2000,
  stream_fields_max: 1000,
  stream_partitions_max: 64,
  /** Of a topic that was there already. */
  adopted_partitions_max: 512,
  page_size_max: 100,
  data_limit_max: 1000,
  data_limit_default: 100,
  chain_steps_max: 16,
  tasks_max: 64,
  retries_max: 100,
  backoff_ms_max: 60_000,
  call_timeout_ms_min: 100,
  call_timeout_ms_max: 60_000,
  /** Dead letters of one redrive that don't lie side by side. */
  job_ranges_max: 50_000,
  preview_records_max: 100,
  /** A dead letter that failed again so often is not redriven any more. */
  redrives_max: 10,
  details_max: 100,
  topic_batch_bytes_max: 8 << 20,
  /** Dead letters keep key, value and headers and add headers of their own. */
  dead_letter_batch_bytes_max: (8 << 20) + (64 << 10),
  dead_letter_headers_bytes: 64 << 10,
} as const

/** Requests per minute by account type (spec §8). */
export const ACCOUNT_TYPES = { developer: 60, professional: 300, enterprise: 1000 } as const
export type AccountType = keyof typeof ACCOUNT_TYPES

/** What a key may do. A key made without scopes may do everything. */
export const SCOPES = [
  'pipelines:read',
  'pipelines:write',
  'smartmodules:read',
  'smartmodules:write',
  'streams:read',
  'streams:write',
  'connectors:read',
  'connectors:write',
  'secrets:read',
  'secrets:write',
  'keys:read',
  'keys:write',
] as const
export type Scope = (typeof SCOPES)[number]
