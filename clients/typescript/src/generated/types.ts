// Generated from the contracts in shared/api by `make clients`. Changes belong there.
/** What the service takes and answers. */

export type Account = {
  /** Opaque id */ id: string
  name: string
  type: AccountType
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  requests_per_minute: number
  quotas: {
    /** pipelines */ pipelines: Quota
    /** tasks of all pipelines together; a job that has not ended is one */ tasks: Quota
    /** streams */ streams: Quota
    /** partitions of all streams together */ partitions: Quota
    /** SmartModules */ smartmodules: Quota
    /** versions of one SmartModule */ smartmodule_versions: Quota
    /** bytes of all versions of all SmartModules together */ smartmodule_bytes: Quota
    /** bytes of all dead letters together; beyond it the oldest are deleted */ dead_letter_bytes: Quota
    /** days after which a dead letter is deleted */ dead_letter_days: Quota
    /** secrets */ secrets: Quota
    /** API keys */ keys: Quota
    /** members */ members: Quota
    /** requests to `/ingest` per second, averaged over ten seconds */ pushed_requests_per_second: Quota
    /** CPU seconds of its pipelines in a clock hour; beyond it they get what other accounts leave over */ cpu_seconds_per_hour: Quota
  }
}

export type AccountType = 'developer' | 'professional' | 'enterprise'

export type ApiKey = {
  /** Opaque id */ id: string
  name: string
  scopes: Scope[]
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type ApplyManifestRequest = {
  manifest: Manifest
  /** Delete members of the set that the manifest no longer names; `false` by default */ prune?: boolean
  /** Pipelines that may be deleted and made anew, which loses their position */ replace?: string[]
  /** Of the plan to apply; without it, whatever the manifest would change now */ hash?: string
}

export type AuditEntry = {
  /** Opaque id */ id: string
  /** ISO 8601 time in UTC, with milliseconds */ at: string
  /** Id of the API key, or `operator` */ actor: string
  /** The operationId of the OpenAPI document */ operation: string
  resource_id: string | null
  /** IP address that the request came from */ address: string | null
  request_id: string
  /** HTTP status of the response; null while, or if ever, it is unknown */ status: number | null
  /** The resource before the request, as its GET shows it; with `left_out` in place of most of it where it is large, or the day’s room is used up */ before: JsonObject | null
  /** The resource after the request, without secrets */ after: JsonObject | null
}

export type Balance = {
  in: number
  out: number
  filtered: number
  skipped: number
  dead_lettered: number
  absorbed: number
  in_flight: number
  emitted: number
}

export type CanaryRequest = {
  /** Counts from 1 */ step: number
  /** Of the step’s SmartModule; the newest one by default */ version?: string
  /** The running one by default */ config?: JsonObject
  /** It runs beside the step; what it makes is compared, and not delivered. The default */ shadow?: true
  /** Instead of shadow: it handles the records of this share of the keys in place of the step’s version, always of the same keys */ share?: number
  /** Rolled back when it fails more than this share of the records that the running version handles; `0` by default */ max_failing?: number
  /** Rolled back when more than this share of the records differs; `1` by default */ max_differing?: number
}

export type ChangePasswordRequest = { password: string; /** Needed where there is one */ current_password?: string }

export type CheckConnectorResponse = { ok: boolean; details: ConfigFault[]; took_ms: number }

export type CheckStreamSchemaRequest = { schema?: StreamFieldsRequest; schema_id?: number }

export type CheckStreamSchemaResponse = {
  /** Whether a change to it is allowed */ compatible: boolean
  /** Why it is not */ details: { path: string; message: string }[]
  pipelines: SchemaUser[]
}

export type CompareSmartModuleVersionsRequest = {
  before: ComparedVersion
  after: ComparedVersion
  stream_id: string
  /** Where to start reading; `latest` reads the newest records */ from?: StreamPlace
  partition?: number
  /** `100` by default */ limit?: number
}

export type CompareSmartModuleVersionsResponse = {
  /** Records that both versions handled */ compared: number
  differing: number
  /** Of those that differ: the new version failed the record, and the old one did not */ failed: number
  differences: Difference[]
  /** There were fewer records than requested, because they reached a size limit */ truncated?: true
}

export type ComparedVersion = { /** The newest one by default */ version?: string; config?: JsonObject }

export type CompileSmartModuleRequest = { source: SmartModuleSource }

export type CompileSmartModuleResponse = {
  ok: boolean
  details: {
    path: '/source/code'
    message: string
    /** From 1; missing where it is not at one place */ line?: number
    /** From 1 */ column?: number
    /** The line, its first 200 characters */ text?: string
  }[]
  bytes?: number
  sha256?: string
  /** JSON Schema of the source’s class Settings */ parameters?: JsonObject
}

export type ConfigFault = { /** JSON pointer (RFC 6901) into the config */ path: string; message: string }

export type Connector = {
  /** Opaque id */ id: string
  name: string
  description: string
  version: string
  kind: ConnectorKind
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type ConnectorConfigRequest = {
  /** Required for a connector that is both a source and a sink */ side?: 'source' | 'sink'
  config?: JsonObject
}

export type ConnectorKind = 'source' | 'sink' | 'both'

export type CreateKeyRequest = { name: string; scopes?: Scope[] }

export type CreateKeyResponse = {
  /** Opaque id */ id: string
  name: string
  scopes: Scope[]
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  api_key: string
  api_secret: string
}

export type CreateMemberLinkResponse = {
  /** Signs in once, within seven days */ sign_in_token: string
  /** ISO 8601 time in UTC, with milliseconds */ sign_in_expires_at: string
}

export type CreateMemberRequest = { name: string; email: string; role: MemberRole }

export type CreateMemberResponse = {
  /** Opaque id */ id: string
  name: string
  email: string
  role: MemberRole
  /** Without one only a link signs in, or the OpenID Connect provider */ has_password: boolean
  /** The OpenID Connect provider signs the member in: the member has signed in with it, by a link or password before */ has_provider: boolean
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** Signs in once, within seven days */ sign_in_token: string
  /** ISO 8601 time in UTC, with milliseconds */ sign_in_expires_at: string
}

export type CreatePipelineResponse = {
  /** Opaque id */ pipeline_id: string
  name: string
  status: PipelineStatus
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type CreateSecretRequest = {
  name: string
  description?: string
  value: string
  /** Ids or names of the only connectors that may use it */ connectors?: string[]
  /** The only hosts that a config with this secret may name; `*.example.com` for all below a domain */ hosts?: string[]
}

export type CreateStreamResponse = {
  /** Opaque id */ id: string
  name: string
  status: StreamStatus
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type DeadLetter = {
  /** Opaque id */ id: string
  partition: number
  offset: number
  step: number
  module: string
  version: string
  revision: number
  error: RecordError
  attempts: number
  redrives: number
  /** ISO 8601 time in UTC, with milliseconds */ failed_at: string
  key: KeyBytes | null
  value: ValueBytes | null
  headers: HeaderBytes[]
  status: DeadLetterStatus
  job_id: string | null
}

export type DeadLetterChoice = {
  step?: number
  error?: string
  /** Empty for what the sink did not take */ module?: string
  /** Empty for what the sink did not take */ version?: string
  /** Exactly as a group shows it */ pattern?: string
  partition?: number
  from?: string
  to?: string
  /** These, whatever has become of them; without it, pending ones */ ids?: string[]
}

export type DeadLetterFilter = {
  step?: number
  error?: string
  /** Empty for what the sink did not take */ module?: string
  /** Empty for what the sink did not take */ version?: string
  /** Exactly as a group shows it */ pattern?: string
  partition?: number
  from?: string
  to?: string
}

export type DeadLetterGroup = {
  step: number
  module: string
  version: string
  error_code: string
  /** What the messages have in common, with … for texts in double quotes and for numbers; null where they have too many, or one has none */ pattern:
    | string
    | null
  count: number
  /** ISO 8601 time in UTC, with milliseconds */ first_failed_at: string
  /** ISO 8601 time in UTC, with milliseconds */ last_failed_at: string
  /** Of the latest one */ message: string
  /** Opaque id */ latest_id: string
}

export type DeadLetterStatus = 'pending' | 'redriving' | 'redriven'

export type DeletePipeline202Response = { /** Opaque id */ pipeline_id: string; status: PipelineStatus }

export type DeploySmartModuleRequest = {
  name: string
  description?: string
  version?: string
  /** WebAssembly in base64, which may have line breaks; either this or `source` */ wasm_binary?: string
  source?: SmartModuleSource
  /** Run before the version is deployed, and before each later one; those of the version before by default */ tests?: ModuleTest[]
  /** Without it, a next version has the formats and parameters of the version before, without its `allowed_hosts`; a source’s own class Settings comes first. A first version reads and writes JSON */ config?: SmartModuleConfigRequest
}

export type DeploySmartModuleResponse = { /** Opaque id */ id: string; name: string; status: string; version: string }

export type Difference = { partition: number; offset: number; before: TraceStep; after: TraceStep }

export type EmptyRequest = Record<string, unknown>

export type Endpoint = { connector_id: string; config: JsonObject }

export type EndpointRequest = { connector_id: string; config?: JsonObject }

export type ErrorReply = {
  error: {
    code:
      | 'invalid_request'
      | 'invalid_credentials'
      | 'forbidden'
      | 'account_suspended'
      | 'quota_exceeded'
      | 'not_found'
      | 'conflict'
      | 'precondition_failed'
      | 'rate_limit_exceeded'
      | 'server_error'
      | 'unavailable'
    message: string
    status: number
    request_id?: string
    details?: {
      /** JSON pointer (RFC 6901) to the fault */ path: string
      message: string
      /** In a source, from 1 */ line?: number
      /** In a source, from 1 */ column?: number
      /** That line of the source */ text?: string
    }[]
  }
}

export type ExplainRecordResponse = {
  partition: number
  offset: number
  outcome: RecordOutcome
  reason: string
  input: TraceRecord
  outputs: TraceRecord[]
  steps: TraceStep[]
  /** Some records are left out, because the response reached its size limit */ truncated?: true
  /** Opaque id */ pipeline_id: string
  revision: number
  /** Whether this revision handled it, before any redrive */ handled: boolean
  /** What can’t be known: whether a canary, which was taken off at some record, handled this one or the running version */ uncertain?: string
  dead_letter_ids: string[]
  /** Its dead letters have all been redriven since: the trace does not show what became of it, that of a redrive’s revision does */ redriven: boolean
  /** The jobs that redrove it, the latest last: the trace of the last one’s revision shows what became of the record */ redrives: {
    /** Opaque id */ job_id: string
    /** The revision that the job ran */ revision: number
    /** When the job was made */ at: string
    /** `redriven`: the record got through; `dead_letter`: it failed again */ outcome: 'redriven' | 'dead_letter'
  }[]
}

export type Flag = 'true' | 'false'

export type GetCanaryResponse = {
  /** Opaque id */ pipeline_id: string
  step: number
  module: string
  version: string
  /** The one that it was compared with */ running_version: string
  config: JsonObject
  shadow: boolean
  /** Of the keys whose records it handles; null in shadow */ share: number | null
  /** Records of its share, as the tasks reported until its end; 0 in shadow */ handled: number
  /** Of those, the ones that it failed */ handled_failed: number
  status: 'comparing' | 'rolled_back' | 'promoted'
  status_reason: string | null
  /** Records that both versions handled */ compared: number
  differing: number
  /** Of those that differ: the new version failed the record, and the old one did not */ failed: number
  /** Records that were left out, because the canary was too far behind or they were too large */ skipped: number
  max_failing: number
  max_differing: number
  /** Kept until the next canary, or until the canary is ended with null */ examples: Difference[]
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
}

export type GetConnectorResponse = {
  /** Opaque id */ id: string
  name: string
  description: string
  version: string
  kind: ConnectorKind
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  config_schema: JsonObject
  source_schema?: JsonObject
  sink_schema?: JsonObject
  /** Which configs can be checked by connecting; of the others a check asks no other system */ checkable_sides: ('source' | 'sink')[]
}

export type GetLineageResponse = { nodes: LineageNode[]; pipelines: LineagePipeline[] }

export type GetManifestResponse = { manifest: Manifest }

export type GetOverviewResponse = {
  pipelines: PipelineGlance[]
  totals: { pipelines: number; attention: number; records_per_second: number; lag: number; dead_letters: number }
}

export type GetPipelineAccountingResponse = {
  /** Opaque id */ pipeline_id: string
  revision: number
  balanced: boolean
  /** Over all revisions, as are those of `partitions` */ totals: Balance
  /** Since the current revision began, unlike `totals`. What the sink refuses is among `failed` of the last one, and not among its `out` */ steps: {
    in: number
    out: number
    filtered: number
    skipped: number
    failed: number
    absorbed: number
    emitted: number
    step: number
    module: string
    version: string
    /** How long it takes for a record on the average, since the tasks started with this revision; null before the first one */ nanoseconds:
      | number
      | null
  }[]
  partitions: {
    in: number
    out: number
    filtered: number
    skipped: number
    dead_lettered: number
    absorbed: number
    in_flight: number
    emitted: number
    partition: number
    revision: number | null
  }[]
}

export type GetPipelineHistoryResponse = {
  /** Opaque id */ pipeline_id: string
  interval_seconds: 10
  /** Ten seconds without a report have none: nothing was handled then */ points: {
    /** When the ten seconds begin */ at: string
    in: number
    out: number
    filtered: number
    failed: number
    /** In offsets, as of the last report */ lag: number
    steps: { in: number; out: number; filtered: number; failed: number }[]
  }[]
}

export type GetPipelineLedgerResponse = {
  /** Opaque id */ pipeline_id: string
  entries: { partition: number; revision: number; from_offset: number; /** ISO 8601 time in UTC, with milliseconds */ at: string }[]
  revisions: {
    revision: number
    /** ISO 8601 time in UTC, with milliseconds */ created_at: string
    processors: { /** Opaque id */ module_id: string; name: string; version: string; config: JsonObject }[]
  }[]
}

export type GetPipelineLogsResponse = { /** Opaque id */ pipeline_id: string; logs: PipelineLog[] }

export type GetPipelineMetricsResponse = {
  /** Opaque id */ pipeline_id: string
  records_per_second: number
  /** Offsets between position and end, asked of Kafka now: markers of transactions and gaps in the log count too */ lag: number
  /** Over all revisions */ totals: Balance
  /** What SmartModules have counted and observed since the tasks started */ modules: {
    step: number
    module: string | null
    name: string
    kind: MeasureKind
    times: number
    sum: number
  }[]
  observed_at: string | null
}

export type GetPipelineOffsetsResponse = {
  /** Opaque id */ pipeline_id: string
  topic: string
  group_id: string
  /** Offsets between position and end, asked of Kafka now: markers of transactions and gaps in the log count too */ lag: number
  partitions: {
    partition: number
    /** First offset that the topic still holds */ start: number
    /** Next offset to be handled */ position: number
    /** End offset of the partition (read-committed) */ end: number
    lag: number
  }[]
}

export type GetPipelineStatusResponse = {
  /** Opaque id */ pipeline_id: string
  status: PipelineStatus
  status_reason: string | null
  desired: string
  /** There is one at `GET /pipelines/{id}/canary`, which is not promoted */ has_canary: boolean
  revision: number
  /** Offsets between position and end, asked of Kafka now: markers of transactions and gaps in the log count too; as of the tasks’ last reports while Kafka is away */ lag: number
  records_per_second: number
  tasks: PipelineTask[]
}

export type GetSmartModuleResponse = {
  /** Opaque id */ id: string
  name: string
  description: string
  version: string
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** Of the newest version */ status: 'deployed' | 'quarantined'
  kind: SmartModuleKind
  sha256: string
  bytes: number
  built_in: boolean
  /** Where the newest version was deployed as a source */ source?: SmartModuleSourceShown
  config: JsonObject
}

export type GetSmartModuleVersionResponse = {
  version: string
  /** `quarantined`: its calls trapped or did not return too often in a pipeline, and no new step may name it */ status:
    | 'deployed'
    | 'quarantined'
  kind: SmartModuleKind
  sha256: string
  bytes: number
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  config: JsonObject
  source?: SmartModuleSourceShown
  tests?: ModuleTestShown[]
  /** In base64 */ wasm_binary?: string
}

export type GetStreamDataResponse = {
  data: unknown[]
  pagination: {
    total: number
    page: number
    limit: number
    /** More records follow this page */ has_more?: true
    /** Continues after this page. The last page has one too, for reading the records that come later */ next_cursor?: string
    /** `total` is an estimate: not all records are counted yet */ approximate?: true
    undecodable?: { index: number; partition: number; offset: string; reason: string }[]
  }
}

export type GetStreamRecordsResponse = {
  records: { partition: number; offset: number; record: TraceRecord }[]
  /** Present where the stream has something before these records: `before` of the next request */ older?: string
  /** Present where the stream has something behind these records: `after` of the next request */ newer?: string
  /** There are fewer records than requested, because they reached a size limit */ truncated?: true
  /** The search for the key took too long and was ended: give a partition, an offset or a time to search elsewhere */ incomplete?: true
}

export type HeaderBytes = {
  key: string
  base64: string | null
  /** Only the beginning is shown, because the response reached its size limit */ truncated?: true
}

export type Job = {
  /** Opaque id */ id: string
  /** Opaque id */ job_id: string
  /** Opaque id */ pipeline_id: string
  kind: JobKind
  status: JobStatus
  status_reason: string | null
  revision: number
  total: number
  progress: number
  records: RecordCounts
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
}

export type JobKind = 'redrive' | 'replay'

export type JobStatus = 'starting' | 'running' | 'cancelling' | 'finished' | 'cancelled' | 'failed'

export type JsonObject = Record<string, unknown>

export type KeyBytes = {
  base64: string
  text: string | null
  /** Only the beginning is shown, because the response reached its size limit */ truncated?: true
}

export type LineageNode = {
  /** A stream’s own; for a place outside, one that stays the same as long as its config does */ id: string
  kind: 'stream' | 'connector'
  /** Of the stream, or of the connector */ name: string
  /** Outside: which table, topic, key or address */ place?: string
}

export type LineagePipeline = {
  /** Opaque id */ id: string
  name: string
  status: PipelineStatus
  from: string
  to: string
  /** The SmartModules of its steps, in their order */ modules: string[]
}

export type ListAuditResponse = { entries: AuditEntry[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListConnectorsResponse = { connectors: Connector[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListDeadLetterGroupsResponse = { /** Opaque id */ pipeline_id: string; groups: DeadLetterGroup[] }

export type ListDeadLettersResponse = {
  dead_letters: DeadLetter[]
  total: number
  page: number
  page_size: number
  next_cursor?: string
  /** Fewer entries than requested, because of the size limit; next_cursor continues */ truncated?: true
}

export type ListJobsResponse = { jobs: Job[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListKeysResponse = { keys: ApiKey[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListManifestsResponse = { sets: ManifestSet[] }

export type ListMembersResponse = { members: Member[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListPipelinesResponse = { pipelines: PipelineItem[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListSecretsResponse = { secrets: Secret[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListSmartModuleVersionsResponse = {
  versions: SmartModuleVersion[]
  total: number
  page: number
  page_size: number
  next_cursor?: string
}

export type ListSmartModulesResponse = { modules: SmartModuleItem[]; total: number; page: number; page_size: number; next_cursor?: string }

export type ListSort = 'created_at' | '-created_at' | 'name' | '-name'

export type ListStreamSchemasResponse = { schemas: StreamSchemaVersion[] }

export type ListStreamsResponse = { streams: StreamItem[]; total: number; page: number; page_size: number; next_cursor?: string }

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LostPositionPolicy = 'fail' | 'earliest'

export type Manifest = {
  /** The version of this format */ dps: 1
  /** What owns the members: another set can’t change them */ set: string
  streams?: Record<string, ManifestStream>
  smartmodules?: Record<string, ManifestSmartModule>
  pipelines?: Record<string, ManifestPipeline>
}

export type ManifestConnectorEnd = { /** Name or id */ connector: string; /** Its config */ with?: JsonObject }

export type ManifestPipeline = {
  source: ManifestStreamSource | ManifestConnectorEnd
  steps?: ManifestStep[]
  sink: ManifestStreamSink | ManifestConnectorEnd
  description?: string
  /** `1` by default */ tasks?: number
  /** `true` by default */ autostart?: boolean
  start?: StreamPlace
  /** `{"policy":"dead_letter","retries_max":3,"backoff_ms":200}` by default */ on_error?: OnErrorRequest
  /** The pipeline pauses when more than this share of at least 1,000 records within 60 s fails; 1 means never; `0.5` by default */ failure_threshold?: number
  /** When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds; `"fail"` by default */ on_lost_position?: LostPositionPolicy
}

export type ManifestPlan = {
  set: string
  /** Of this plan: given to apply, exactly this plan is applied or nothing */ hash: string
  /** In the order in which they are made */ changes: PlannedChange[]
  unchanged: number
  /** What can be applied, and may not be meant */ warnings?: PlanWarning[]
}

export type ManifestSet = { set: string; streams: number; smartmodules: number; pipelines: number }

export type ManifestSmartModule = {
  description?: string
  /** WebAssembly in base64, which may have line breaks; either this or `source` */ wasm_binary?: string
  source?: SmartModuleSource
  /** Run before the version is deployed, and before each later one; those of the version before by default */ tests?: ModuleTest[]
  /** `{"input_format":"json","output_format":"json"}` by default */ config?: SmartModuleConfigRequest
}

export type ManifestStep = {
  /** Of this manifest, of the account, or a built-in */ module: string
  /** Its config */ with?: JsonObject
  /** The newest by default, also when a later one is deployed */ version?: string
  on_error?: OnErrorRequest
  timeout_ms?: number
  /** The SmartModule changes keys: records go to the partition of their new key; `false` by default */ changes_keys?: boolean
}

export type ManifestStream = {
  description?: string
  schema?: StreamFieldsRequest
  /** Id of a schema in the registry, used with its references instead of `schema` */ schema_id?: number
  /** An existing topic: the stream adopts it as it is, and leaves it when deleted. `schema_id` is then its newest schema by default */ topic?: string
  /** 4 by default */ partitions?: number
  /** 604800000 (a week) by default */ retention_ms?: number
  /** BACKWARD by default */ compatibility?: StreamCompatibility
  /** json by default; with `schema_id`, the format of that schema */ format?: StreamFormat
  /** Of a Protobuf schema of the registry: the message that the records are, as `Order` or `Order.Item`; the first by default */ message?: string
  key?: string
}

export type ManifestStreamSink = {
  /** Of this manifest, or of the account */ stream: string
  compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
}

export type ManifestStreamSource = { /** Of this manifest, or of the account */ stream: string }

export type MeasureKind = 'count' | 'observe'

export type Member = {
  /** Opaque id */ id: string
  name: string
  email: string
  role: MemberRole
  /** Without one only a link signs in, or the OpenID Connect provider */ has_password: boolean
  /** The OpenID Connect provider signs the member in: the member has signed in with it, by a link or password before */ has_provider: boolean
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type MemberRole = 'owner' | 'editor' | 'viewer'

export type ModuleTest = {
  title?: string
  config?: JsonObject
  records: TrialRecord[]
  /** Values of the records that come out, in order */ out: unknown[]
  /** Messages of the records that fail, in order */ failures?: string[]
}

export type ModuleTestShown = { title: string; config: JsonObject; records: TrialRecordShown[]; out: unknown[]; failures: string[] }

export type OnError = { policy: OnErrorPolicy; retries_max: number; backoff_ms: number }

export type OnErrorPolicy = 'dead_letter' | 'skip' | 'retry' | 'fail'

export type OnErrorRequest = {
  /** `"dead_letter"` by default */ policy?: OnErrorPolicy
  /** `3` by default */ retries_max?: number
  /** `200` by default */ backoff_ms?: number
}

export type OverviewSnapshot = { pipelines: PipelineGlance[]; jobs: Job[] }

export type PartitionOffsets = Record<string, number>

export type Pipeline = {
  /** Opaque id */ id: string
  /** Opaque id */ pipeline_id: string
  name: string
  description: string
  status: PipelineStatus
  status_reason: string | null
  revision: number
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
  source: Endpoint
  processors: {
    /** Opaque id */ module_id: string
    name: string
    version: string
    config: JsonObject
    on_error: OnError
    timeout_ms?: number
    changes_keys?: boolean
  }[]
  sink: Endpoint
  tasks: number
  /** Of steps without a policy of their own, and of the sink */ on_error: OnError
  failure_threshold: number
  /** When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds */ on_lost_position: LostPositionPolicy
  /** The version that is tried beside the running one, until it is promoted; what it has found is at `GET /pipelines/{id}/canary` */ canary: PipelineCanary | null
}

export type PipelineCanary = {
  step: number
  version: string
  /** Of the keys whose records it handles; null in shadow */ share: number | null
  status: 'comparing' | 'rolled_back' | 'promoted'
}

export type PipelineChange = {
  name?: string
  description?: string
  processors?: ProcessorEntry[]
  /** Same connector, complete config; members that say where the sink keeps its position can’t change */ sink?: EndpointRequest
  tasks?: number
  on_error?: OnErrorRequest
  /** The pipeline pauses when more than this share of at least 1,000 records within 60 s fails; 1 means never */ failure_threshold?: number
  /** When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds */ on_lost_position?: LostPositionPolicy
  /** Another version of a step to compare with the running one; null ends the comparison */ canary?: CanaryRequest | null
}

export type PipelineDeleted = { /** Opaque id */ id: string }

export type PipelineGlance = {
  /** Opaque id */ id: string
  name: string
  status: PipelineStatus
  status_reason: string | null
  desired: 'running' | 'paused' | 'stopped'
  /** What is wrong with the pipeline; null while nothing is */ attention: string | null
  /** How pressing that is: 0 first; null while nothing is wrong */ attention_rank: number | null
  revision: number
  records_per_second: number
  /** Offsets between position and end, as of the tasks’ last reports; markers of transactions count */ lag: number
  /** Pending ones */ dead_letters: number
  /** When its status or definition changed last */ changed_at: string
}

export type PipelineItem = {
  /** Opaque id */ id: string
  /** Opaque id */ pipeline_id: string
  name: string
  description: string
  status: PipelineStatus
  status_reason: string | null
  revision: number
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
}

export type PipelineLog = {
  /** Grows from line to line */ id: string
  /** ISO 8601 time in UTC, with milliseconds */ at: string
  level: LogLevel
  /** From 1; null for what the task itself says */ step: number | null
  module: string | null
  version: string | null
  revision: number
  /** `chain`: a task that runs the chain; `intake`: one that reads an external source */ role: TaskRole
  task: number
  /** The job that ran the chain */ job_id?: string
  message: string
  /** Lines before this one that were too many to keep */ dropped?: number
}

export type PipelinePlanRequest = {
  name?: string
  description?: string
  processors?: ProcessorEntry[]
  /** Same connector, complete config; members that say where the sink keeps its position can’t change */ sink?: EndpointRequest
  tasks?: number
  on_error?: OnErrorRequest
  /** The pipeline pauses when more than this share of at least 1,000 records within 60 s fails; 1 means never */ failure_threshold?: number
  /** When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds */ on_lost_position?: LostPositionPolicy
}

export type PipelineRequest = {
  name: string
  description?: string
  source: EndpointRequest
  processors?: ProcessorEntry[]
  sink: EndpointRequest
  /** `1` by default */ tasks?: number
  /** `true` by default */ autostart?: boolean
  start?: StreamPlace
  /** `{"policy":"dead_letter","retries_max":3,"backoff_ms":200}` by default */ on_error?: OnErrorRequest
  /** The pipeline pauses when more than this share of at least 1,000 records within 60 s fails; 1 means never; `0.5` by default */ failure_threshold?: number
  /** When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds; `"fail"` by default */ on_lost_position?: LostPositionPolicy
}

export type PipelineStatus =
  | 'creating'
  | 'created'
  | 'starting'
  | 'running'
  | 'pausing'
  | 'paused'
  | 'stopping'
  | 'stopped'
  | 'failed'
  | 'deleting'

export type PipelineTask = {
  role: TaskRole
  task: number
  processor_id: string
  revision: number
  status: 'starting' | 'running' | 'paused' | 'stopped' | 'failed' | 'finished'
  reason: unknown
  at: string
  records_per_second: number
  in_flight: number
  held_back: boolean
  quarantined: string[]
  measures: TaskMeasure[]
  partitions: TaskPartition[]
}

export type PlanManifestRequest = {
  manifest: Manifest
  /** Delete members of the set that the manifest no longer names; `false` by default */ prune?: boolean
  /** Pipelines that may be deleted and made anew, which loses their position */ replace?: string[]
}

export type PlanPipelineResponse = {
  /** Opaque id */ pipeline_id: string
  /** After the change */ revision: number
  /** `none`: nothing that runs changes; `live`: running tasks take it over between two rounds; `reopen`: they start anew */ effect:
    | 'none'
    | 'live'
    | 'reopen'
  differences: PlannedDifference[]
}

export type PlanWarning = { path: string; message: string }

export type PlannedChange = {
  kind: 'stream' | 'smartmodule' | 'pipeline'
  name: string
  action: 'create' | 'update' | 'replace' | 'adopt' | 'delete'
  /** `live`: between two rounds; `reopen`: its tasks start anew; `replace`: deleted and made anew, its position is lost */ effect: PlannedEffect | null
  /** It exists and is in no set: it becomes a member, which can be pruned later */ adopts: boolean
  differences: PlannedDifference[]
}

export type PlannedDifference = { path: string; before: unknown; after: unknown }

export type PlannedEffect = 'live' | 'reopen' | 'replace'

export type PreviewPipelineResponse = {
  /** Opaque id */ pipeline_id: string
  records: Trace[]
  /** So many of the last records were not run: a step did not return for the one before them, or the time for all was over */ not_run?: number
  /** There are fewer records than requested, because they reached a size limit */ truncated?: true
  /** Where dead letters are run: how many the selection has in all */ total?: number
}

export type PreviewRequest = {
  /** Another chain to try; the pipeline’s own by default */ processors?: ProcessorEntry[]
  /** Where to start reading; `latest`, the default, reads the newest records */ from?: StreamPlace
  partition?: number
  /** In place of records of the source: dead letters of the pipeline as a redrive runs them, those that failed last first */ dead_letters?: DeadLetterChoice
  /** `10` by default */ limit?: number
}

export type ProcessorEntry = {
  /** Id or name of a SmartModule, also as `name@version` */ module_id: string
  config?: JsonObject
  /** The newest one at this moment by default: a later version is adopted by another change only */ version?: string
  on_error?: OnErrorRequest
  timeout_ms?: number
  /** The SmartModule changes keys: records go to the partition of their new key; `false` by default */ changes_keys?: boolean
}

export type Quota = { limit: number; /** null for rates that are not counted */ used: number | null }

export type RecordCounts = { in: number; out: number; filtered: number; skipped: number; failed: number; absorbed: number; emitted: number }

export type RecordError = { code: string; message: string }

export type RecordOutcome = 'delivered' | 'filtered' | 'dead_letter' | 'skipped' | 'failed'

export type RedriveDeadLetters200Response = { dry_run: boolean; count: number }

export type RedriveDeadLetters202Response = {
  /** Opaque id */ id: string
  /** Opaque id */ job_id: string
  /** Opaque id */ pipeline_id: string
  kind: JobKind
  status: JobStatus
  status_reason: string | null
  revision: number
  total: number
  progress: number
  records: RecordCounts
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
  count: number
}

export type RedriveRequest = { ids?: string[]; filter?: DeadLetterFilter; /** `false` by default */ dry_run?: boolean }

export type ReplayRequest = {
  from?: StreamPlace
  to?: StreamPlace
  /** Another stream of the account to write to; the pipeline’s own sink by default */ sink?: { stream_id: string }
  /** Maximum rate; unlimited by default */ records_per_second?: number
}

export type ResetOffsetsRequest = { start: StreamPlace }

export type ResetOffsetsResponse = { /** Opaque id */ pipeline_id: string; revision: number; offsets: Record<string, string> }

export type SchemaUser = {
  /** Opaque id */ id: string
  name: string
  /** False where it only writes the stream */ reads: boolean
  mentions: { /** Of the config, in the pipeline */ path: string; fields: string[] }[]
}

export type Scope =
  | 'pipelines:read'
  | 'pipelines:write'
  | 'smartmodules:read'
  | 'smartmodules:write'
  | 'streams:read'
  | 'streams:write'
  | 'connectors:read'
  | 'connectors:write'
  | 'secrets:read'
  | 'secrets:write'
  | 'secrets:use'
  | 'keys:read'
  | 'keys:write'
  | 'audit:read'

export type Secret = {
  /** Opaque id */ id: string
  name: string
  description: string
  /** Ids or names of the connectors that it is for; null for all */ connectors: string[] | null
  /** Hosts that it is for; null for all */ hosts: string[] | null
  /** Ids of the pipelines that use the secret */ used_by: string[]
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
}

export type Session = {
  account: { /** Opaque id */ id: string; name: string; type: AccountType }
  scopes: Scope[]
  /** Null for a caller with an API key */ member: Member | null
  expires_at: string | null
}

export type SmartModuleConfigRequest = {
  /** `"json"` by default */ input_format?: ValueFormat
  /** `"json"` by default */ output_format?: ValueFormat
  /** JSON Schema for the config of a step that uses the SmartModule */ parameters?: JsonObject
  /** Hosts that an Extism plug-in may send HTTP requests to: names, or `*.` and a domain */ allowed_hosts?: string[]
}

export type SmartModuleItem = {
  /** Opaque id */ id: string
  name: string
  description: string
  version: string
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type SmartModuleKind = 'batch' | 'extism' | 'redpanda' | 'fluvio'

export type SmartModuleSource = { language: 'typescript'; code: string }

export type SmartModuleSourceShown = { language: 'typescript'; code: string }

export type SmartModuleVersion = {
  version: string
  /** `quarantined`: its calls trapped or did not return too often in a pipeline, and no new step may name it */ status:
    | 'deployed'
    | 'quarantined'
  kind: SmartModuleKind
  sha256: string
  bytes: number
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
}

export type StepOutcome = 'passed' | 'changed' | 'filtered' | 'failed' | 'not_reached'

export type Stream = {
  /** Opaque id */ id: string
  name: string
  description: string
  status: StreamStatus
  status_reason: string | null
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
  schema: Record<string, string>
  schema_id: number | null
  topic: string
  partitions: number
  retention_ms: number
  compatibility: string
  format: string
  key: string | null
  /** The message of its Protobuf schema that it was created with */ message: string | null
  is_adopted: boolean
}

export type StreamCompatibility =
  | 'BACKWARD'
  | 'BACKWARD_TRANSITIVE'
  | 'FORWARD'
  | 'FORWARD_TRANSITIVE'
  | 'FULL'
  | 'FULL_TRANSITIVE'
  | 'NONE'

export type StreamEdge = 'earliest' | 'latest'

export type StreamFieldsRequest = Record<string, unknown>

export type StreamFormat = 'json' | 'avro' | 'protobuf'

export type StreamItem = {
  /** Opaque id */ id: string
  name: string
  description: string
  status: StreamStatus
  status_reason: string | null
  /** ISO 8601 time in UTC, with milliseconds */ created_at: string
  /** ISO 8601 time in UTC, with milliseconds */ updated_at: string
}

export type StreamOffsets = { offsets: PartitionOffsets }

export type StreamPlace = StreamEdge | StreamTime | StreamOffsets

export type StreamRequest = {
  name: string
  description?: string
  schema?: StreamFieldsRequest
  /** Id of a schema in the registry, used with its references instead of `schema` */ schema_id?: number
  /** An existing topic: the stream adopts it as it is, and leaves it when deleted. `schema_id` is then its newest schema by default */ topic?: string
  /** 4 by default */ partitions?: number
  /** 604800000 (a week) by default */ retention_ms?: number
  /** BACKWARD by default */ compatibility?: StreamCompatibility
  /** json by default; with `schema_id`, the format of that schema */ format?: StreamFormat
  /** Of a Protobuf schema of the registry: the message that the records are, as `Order` or `Order.Item`; the first by default */ message?: string
  key?: string
}

export type StreamSchemaVersion = { schema_id: number; schema: Record<string, string>; is_current: boolean }

export type StreamStatus = 'creating' | 'active' | 'deleting'

export type StreamTime = { timestamp: string }

export type TailFrame = {
  records: TailRecord[]
  /** Records came faster than they are shown: some before these were left out */ sampled: boolean
  /** Offsets left out since the last frame; transaction markers count too */ dropped: number
  /** Records for which the filter is neither true nor false, with the place of the first one and why; they are not shown */ undecided?: TailUndecided
}

export type TailRecord = {
  partition: number
  offset: number
  /** The record; left out where a step is looked at */ record?: TraceRecord
  /** What the step made of the source’s record; values have no schema frame */ step?: TailStep
  /** Of a dead letter: why the record failed */ error?: { step: number; module: string; code: string; message: string }
}

export type TailStep = {
  step: number
  module: string
  version: string
  outcome: StepOutcome
  reason: string
  in: TraceRecord[]
  out: TraceRecord[]
  error: RecordError | null
  /** What the SmartModule logged for the record */ logs: string[]
  /** How long the step took for the record alone, with the host’s part */ nanoseconds: number
  /** What the memory of the SmartModule’s instance takes after the record */ memory_bytes: number
  /** Some records are left out for lack of room */ truncated?: true
}

export type TailUndecided = { count: number; partition: number; offset: number; reason: string }

export type TailWaiting = { reason: string }

export type TaskMeasure = { step: number; name: string; kind: MeasureKind; times: number; sum: number }

export type TaskPartition = {
  partition: number
  position: string
  end: string
  lag: string
  /** Since the task’s revision began */ steps: RecordCounts[]
  /** Of the whole chain, over all revisions */ totals?: RecordCounts
}

export type TaskRole = 'chain' | 'intake'

export type TestSmartModuleRequest = {
  processors: TrialStep[]
  records?: TrialRecord[]
  /** Records of this stream */ stream_id?: string
  /** Records of this pipeline’s source, or its dead letters; they end at its sink */ pipeline_id?: string
  /** Where to start reading; `latest`, the default, reads the newest records */ from?: StreamPlace
  partition?: number
  /** In place of records of the source: dead letters of the pipeline as a redrive runs them, those that failed last first */ dead_letters?: DeadLetterChoice
  /** `10` by default */ limit?: number
}

export type TestSmartModuleResponse = {
  records: Trace[]
  /** So many of the last records were not run: a step did not return for the one before them, or the time for all was over */ not_run?: number
  /** There are fewer records than requested, because they reached a size limit */ truncated?: true
  /** Where dead letters are run: how many the selection has in all */ total?: number
}

export type TextHeaders = Record<string, string>

export type TimeSort = 'created_at' | '-created_at'

export type Trace = {
  partition: number
  offset: number
  outcome: RecordOutcome
  reason: string
  input: TraceRecord
  outputs: TraceRecord[]
  steps: TraceStep[]
  /** Some records are left out, because the response reached its size limit */ truncated?: true
  /** Where dead letters are run: this one, and how it failed */ dead_letter?: {
    /** Opaque id */ id: string
    step: number
    error: RecordError
  }
}

export type TraceRecord = {
  /** ISO 8601 time in UTC, with milliseconds */ timestamp: string
  key: KeyBytes | null
  value: ValueBytes | null
  headers: HeaderBytes[]
}

export type TraceStep = {
  step: number
  module: string
  version: string
  config: JsonObject
  outcome: StepOutcome
  reason: string
  in: TraceRecord[]
  out: TraceRecord[]
  error: RecordError | null
  /** What the SmartModule logged for the record */ logs: string[]
  /** How long the step took for the record alone, with the host’s part */ nanoseconds: number
  /** What the memory of the SmartModule’s instance takes after the record */ memory_bytes: number
}

export type TrialRecord = {
  /** `null` by default */ key?: string | null
  /** Any JSON value; null is a record without a value */ value: unknown
  headers?: TextHeaders
  /** The time of the request by default */ timestamp?: string
}

export type TrialRecordShown = { key: string | null; value: unknown; headers: TextHeaders; timestamp?: string }

export type TrialStep = {
  module_id?: string
  version?: string
  source?: SmartModuleSource
  wasm_binary?: string
  /** `"json"` by default */ input_format?: ValueFormat
  /** `"json"` by default */ output_format?: ValueFormat
  config?: JsonObject
  /** Of one that is not deployed: what the answer calls it */ name?: string
  /** Of a plug-in that is not deployed */ allowed_hosts?: string[]
}

export type UpdateMemberRequest = { name?: string; role?: MemberRole }

export type UpdateSecretRequest = { description?: string; value?: string }

export type UpdateStreamRequest = { description?: string; schema?: StreamFieldsRequest; schema_id?: number }

export type ValidateConnectorResponse = {
  valid: boolean
  details: ConfigFault[]
  /** The config with its defaults filled in; present only if it is valid */ config?: JsonObject
}

export type ValueBytes = {
  /** All of its bytes: as topics hold it, those of the registry’s prefix (0 and the schema’s id) and then the value */ base64: string
  json: unknown
  /** Only the beginning is shown, because the response reached its size limit */ truncated?: true
}

export type ValueFormat = 'json' | 'text' | 'bytes'

export type WriteStreamDataRequest = { records: unknown[] }

export type WriteStreamDataResponse = { records: number; partitions: { partition: number; first_offset: string; records: number }[] }
