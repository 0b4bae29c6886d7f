/** Limits that the API and the services share; those of one folder are beside the code that keeps them. */
export const LIMITS = {
  body_bytes_max: 1 << 20,
  /** In base64 a binary of `SMARTMODULE_LIMITS.file_bytes_max` must fit. */
  smartmodule_body_bytes_max: 16 << 20,
  smartmodule_source_characters_max: 256 << 10,
  /** Size of a version's tests, which each version keeps. */
  smartmodule_tests_bytes_max: 1 << 20,
  /** Body of a request without a token, with credentials in it. */
  credentials_body_bytes_max: 8 << 10,
  /** Of a JSON body around texts and binaries; of records that are written there are more. */
  body_values_max: 60_000,
  /** Backslashes in the texts of a JSON body, each of which takes as long to read as a few dozen other characters. */
  body_escapes_max: 1_000_000,
  /** Of one config, and of those of all steps together: two full tables of `dps/lookup`. Rows of large ones are parsed again and again. */
  config_values_max: 25_000,
  nesting_max: 32,
  name_characters_max: 200,
  description_characters_max: 2000,
  stream_fields_max: 1000,
  stream_partitions_max: 64,
  /** Partitions of an adopted topic. */
  adopted_partitions_max: 512,
  page_size_max: 100,
  data_limit_max: 1000,
  data_limit_default: 100,
  chain_steps_max: 16,
  /** All distinct binaries of a chain together. */
  chain_binaries_bytes_max: 32 << 20,
  tasks_max: 64,
  retries_max: 100,
  backoff_ms_max: 60_000,
  call_timeout_ms_min: 100,
  call_timeout_ms_max: 60_000,
  /** Of all schemas that a stream has had, which are part of what its readers run; of JSON, whose older ones are forgotten. */
  stream_schemas_bytes_max: 2 << 20,
  /** Of what a pipeline or a job runs, as JSON: it is one record of `dps.definitions`, which takes 16 MiB. */
  definition_bytes_max: 12 << 20,
  /** Separate ranges of offsets in one redrive. */
  job_ranges_max: 50_000,
  preview_records_max: 100,
  compare_records_max: 500,
  /** Canaries that one pass compares; the others follow in the next one. */
  canaries_per_pass: 20,
  /** A dead letter that was redriven this often is not redriven again. */
  redrives_max: 10,
  details_max: 100,
  /** Records of a stream with their keys, headers and bytes. */
  stream_records_default: 20,
  stream_records_max: 100,
  key_query_characters_max: 1024,
  /** Records of one write. */
  write_records_max: 100_000,
  topic_batch_bytes_max: 8 << 20,
  /** Dead letters keep the record's key, value and headers, and add their own headers. */
  dead_letter_batch_bytes_max: (8 << 20) + (64 << 10),
  dead_letter_headers_bytes: 64 << 10,
} as const

/** Requests per minute by account type. */
export const REQUESTS_PER_MINUTE = { developer: 60, professional: 300, enterprise: 1000 } as const
/** The type of an account, which sets its rate limit, its quotas and its share of CPU time. */
export type AccountType = keyof typeof REQUESTS_PER_MINUTE
/** The names of the account types. */
export const ACCOUNT_TYPE_NAMES = ['developer', 'professional', 'enterprise'] as const satisfies readonly AccountType[]

/** The scopes of API keys. A key created without scopes gets all of them. */
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
  'secrets:use',
  'keys:read',
  'keys:write',
  'audit:read',
] as const
/** A scope of an API key. */
export type Scope = (typeof SCOPES)[number]

/** What a member of an account may be. */
export const MEMBER_ROLES = ['owner', 'editor', 'viewer'] as const
/** The role of a member. */
export type MemberRole = (typeof MEMBER_ROLES)[number]

const ABOUT_ACCESS: readonly Scope[] = ['keys:read', 'keys:write', 'audit:read']

/** Owners may do everything; editors all but manage access; viewers only read, and neither keys nor the audit log. */
export const ROLE_SCOPES: Record<MemberRole, readonly Scope[]> = {
  owner: SCOPES,
  editor: SCOPES.filter((scope) => !ABOUT_ACCESS.includes(scope)),
  viewer: SCOPES.filter((scope) => scope.endsWith(':read') && !ABOUT_ACCESS.includes(scope)),
}
