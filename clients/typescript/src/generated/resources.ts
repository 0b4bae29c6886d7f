// Generated from the contracts in shared/api by `make clients`. Changes belong there.
/** Every operation of the service, by resource. */
import { listen, type ListenOptions } from '../core/events.ts'
import { allOf, PAGE_SIZE } from '../core/pages.ts'
import { segment, type CallOptions, type Transport } from '../core/transport.ts'
import type * as T from './types.ts'

/** What may be said of any request. */
export type RequestOptions = Pick<CallOptions, 'idempotencyKey' | 'signal'>
/** Of what answers with an ETag: the version of the resource. */
export type Tagged = Pick<CallOptions, 'onTag'>
/** Of what is refused where the resource is another one by now. */
export type Conditional = Pick<CallOptions, 'ifMatch'>

export type KeysListQuery = { page?: number; page_size?: number; name?: string; sort?: T.ListSort; cursor?: string }

export type AuditListQuery = {
  page?: number
  page_size?: number
  cursor?: string
  sort?: T.TimeSort
  resource_id?: string
  actor?: string
  operation?: string
}

export type SmartmodulesListQuery = {
  page?: number
  page_size?: number
  name?: string
  status?: string
  sort?: T.ListSort
  cursor?: string
  kind?: T.SmartModuleKind
}

export type SmartmodulesListVersionsQuery = { page?: number; page_size?: number; cursor?: string; sort?: T.TimeSort }

export type SmartmodulesGetVersionQuery = { binary?: T.Flag }

export type ConnectorsListQuery = { page?: number; page_size?: number; name?: string; sort?: T.ListSort; kind?: T.ConnectorKind }

export type PipelinesListQuery = {
  page?: number
  page_size?: number
  name?: string
  status?: string
  sort?: T.ListSort
  cursor?: string
  module_id?: string
}

export type PipelinesCreateQuery = { check?: T.Flag }

export type PipelinesUpdateQuery = { check?: T.Flag }

export type PipelinesGetLogsQuery = { level?: T.LogLevel; step?: number; since?: string; limit?: number }

export type PipelinesTailQuery = { filter?: string; last?: number; at?: string }

export type PipelinesExplainRecordQuery = { partition: number; offset: number; revision?: number }

export type PipelinesListDeadLettersQuery = {
  page?: number
  page_size?: number
  cursor?: string
  sort?: 'failed_at' | '-failed_at'
  step?: number
  error?: string
  module?: string
  version?: string
  pattern?: string
  status?: T.DeadLetterStatus
  partition?: number
  from?: string
  to?: string
}

export type PipelinesListDeadLetterGroupsQuery = { status?: T.DeadLetterStatus; from?: string; to?: string }

export type JobsListQuery = { page?: number; page_size?: number; status?: string; sort?: T.TimeSort; cursor?: string; pipeline_id?: string }

export type MembersListQuery = { page?: number; page_size?: number; name?: string; sort?: T.ListSort; cursor?: string }

export type SecretsListQuery = { page?: number; page_size?: number; name?: string; sort?: T.ListSort; cursor?: string }

export type StreamsListQuery = { page?: number; page_size?: number; name?: string; status?: string; sort?: T.ListSort; cursor?: string }

export type StreamsGetDataQuery = { limit?: number; page?: number; cursor?: string; partition?: number; order?: 'asc' | 'desc' }

export type StreamsGetRecordsQuery = {
  from?: 'earliest' | 'latest'
  timestamp?: string
  partition?: number
  offset?: number
  key?: string
  before?: string
  after?: string
  limit?: number
}

export type StreamsTailQuery = { filter?: string; last?: number }

/** The resources over a transport. */
export function createResources(transport: Transport) {
  const { call } = transport
  return {
    account: {
      /** The account, its quotas, and how much of them it uses. */
      get: (options: RequestOptions = {}) => call<T.Account>('GET', '/account', { ...options }),
    },
    keys: {
      /** List API keys. */
      list: (query: KeysListQuery = {}, options: RequestOptions = {}) => call<T.ListKeysResponse>('GET', '/keys', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<KeysListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListKeysResponse>('GET', '/keys', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.keys,
        ),
      /** Create an API key; its secret is shown only in this response. */
      create: (body: T.CreateKeyRequest, options: RequestOptions = {}) => call<T.CreateKeyResponse>('POST', '/keys', { body, ...options }),
      /** Revoke an API key and its tokens. */
      delete: (id: string, options: RequestOptions = {}) => call<void>('DELETE', `/keys/${segment(id)}`, { ...options }),
    },
    audit: {
      /** Who changed what, when and from where, with resources of every kind, whatever other scopes the caller has; the newest first. */
      list: (query: AuditListQuery = {}, options: RequestOptions = {}) => call<T.ListAuditResponse>('GET', '/audit', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<AuditListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListAuditResponse>('GET', '/audit', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.entries,
        ),
    },
    smartmodules: {
      /** List SmartModules, including the built-in ones. */
      list: (query: SmartmodulesListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListSmartModulesResponse>('GET', '/smartmodules', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<SmartmodulesListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) =>
            call<T.ListSmartModulesResponse>('GET', '/smartmodules', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.modules,
        ),
      /** Compile a source without deploying it; says line and column of what is wrong. */
      compile: (body: T.CompileSmartModuleRequest, options: RequestOptions = {}) =>
        call<T.CompileSmartModuleResponse>('POST', '/smartmodules/compile', { body, isRead: true, ...options }),
      /** Run records, given or of a stream or pipeline, through steps that need not be deployed; writes nothing. */
      test: (body: T.TestSmartModuleRequest, options: RequestOptions = {}) =>
        call<T.TestSmartModuleResponse>('POST', '/smartmodules/test', { body, isRead: true, ...options }),
      /** Deploy a SmartModule, as WebAssembly or as a source; under an existing name it becomes the next version. */
      deploy: (body: T.DeploySmartModuleRequest, options: RequestOptions = {}) =>
        call<T.DeploySmartModuleResponse>('POST', '/smartmodules', { body, isIdempotent: true, ...options }),
      /** Get one SmartModule. */
      get: (id: string, options: RequestOptions & Tagged = {}) =>
        call<T.GetSmartModuleResponse>('GET', `/smartmodules/${segment(id)}`, { ...options }),
      /** List the versions of a SmartModule, the newest first. */
      listVersions: (id: string, query: SmartmodulesListVersionsQuery = {}, options: RequestOptions = {}) =>
        call<T.ListSmartModuleVersionsResponse>('GET', `/smartmodules/${segment(id)}/versions`, { query, ...options }),
      /** Every item of `listVersions`; fetches pages as they are needed. */
      allVersions: (id: string, query: Omit<SmartmodulesListVersionsQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) =>
            call<T.ListSmartModuleVersionsResponse>('GET', `/smartmodules/${segment(id)}/versions`, {
              query: { page_size: PAGE_SIZE, ...query, cursor },
              ...options,
            }),
          (page) => page.versions,
        ),
      /** Get one version of a SmartModule, with its source, or its binary. */
      getVersion: (id: string, version: string, query: SmartmodulesGetVersionQuery = {}, options: RequestOptions = {}) =>
        call<T.GetSmartModuleVersionResponse>('GET', `/smartmodules/${segment(id)}/versions/${segment(version)}`, { query, ...options }),
      /** Run two versions, or two configs, over the same records of a stream, and list what differs; writes nothing. */
      compareVersions: (id: string, body: T.CompareSmartModuleVersionsRequest, options: RequestOptions = {}) =>
        call<T.CompareSmartModuleVersionsResponse>('POST', `/smartmodules/${segment(id)}/compare`, { body, isRead: true, ...options }),
      /** Delete a SmartModule that no pipeline uses. */
      delete: (id: string, options: RequestOptions & Conditional = {}) =>
        call<void>('DELETE', `/smartmodules/${segment(id)}`, { ...options }),
    },
    connectors: {
      /** List connectors. */
      list: (query: ConnectorsListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListConnectorsResponse>('GET', '/connectors', { query, ...options }),
      /** Get one connector with the JSON Schema of its config. */
      get: (id: string, options: RequestOptions = {}) => call<T.GetConnectorResponse>('GET', `/connectors/${segment(id)}`, { ...options }),
      /** Validate a config field by field, without connecting to anything. */
      validate: (id: string, body: T.ConnectorConfigRequest, options: RequestOptions = {}) =>
        call<T.ValidateConnectorResponse>('POST', `/connectors/${segment(id)}/validate`, { body, isRead: true, ...options }),
      /** Check a config by connecting and reading metadata: writes nothing, moves no position, gives up after a few seconds. */
      check: (id: string, body: T.ConnectorConfigRequest, options: RequestOptions = {}) =>
        call<T.CheckConnectorResponse>('POST', `/connectors/${segment(id)}/check`, { body, isRead: true, ...options }),
    },
    manifests: {
      /** All sets, with how many members of each kind they own. */
      list: (options: RequestOptions = {}) => call<T.ListManifestsResponse>('GET', '/manifests', { ...options }),
      /** What applying a manifest would change; changes nothing. */
      plan: (body: T.PlanManifestRequest, options: RequestOptions = {}) =>
        call<T.ManifestPlan>('POST', '/manifests/plan', { body, isRead: true, ...options }),
      /** Make the changes that a plan of the manifest names; 409 where the plan with this hash is out of date, and nothing is changed. */
      apply: (body: T.ApplyManifestRequest, options: RequestOptions = {}) =>
        call<T.ManifestPlan>('POST', '/manifests/apply', { body, ...options }),
      /** The set as a manifest, whose plan would change nothing; `id` is the set’s name; 409 where it is larger than a manifest may be. */
      get: (id: string, options: RequestOptions = {}) => call<T.GetManifestResponse>('GET', `/manifests/${segment(id)}`, { ...options }),
    },
    overview: {
      /** All pipelines with status, reason, rate, lag and dead letters; those that need attention come first. */
      get: (options: RequestOptions = {}) => call<T.GetOverviewResponse>('GET', '/overview', { ...options }),
    },
    lineage: {
      /** What flows where: every pipeline between what it reads and what it writes. */
      get: (options: RequestOptions = {}) => call<T.GetLineageResponse>('GET', '/lineage', { ...options }),
    },
    events: {
      /** All pipelines and unfinished jobs at first (`snapshot`), then each pipeline whose status, rate, lag or dead letters change, and each job that moves on, as server-sent events; about one look a second. */
      follow: (options: ListenOptions = {}) =>
        listen<{ snapshot: T.OverviewSnapshot; pipeline: T.PipelineGlance; pipeline_deleted: T.PipelineDeleted; job: T.Job }>(
          transport,
          '/events',
          {},
          options,
        ),
    },
    pipelines: {
      /** List pipelines. */
      list: (query: PipelinesListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListPipelinesResponse>('GET', '/pipelines', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<PipelinesListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListPipelinesResponse>('GET', '/pipelines', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.pipelines,
        ),
      /** Create a pipeline and, unless autostart is false, start it. */
      create: (body: T.PipelineRequest, query: PipelinesCreateQuery = {}, options: RequestOptions = {}) =>
        call<T.CreatePipelineResponse>('POST', '/pipelines', { query, body, isIdempotent: true, ...options }),
      /** Get one pipeline. */
      get: (id: string, options: RequestOptions & Tagged = {}) => call<T.Pipeline>('GET', `/pipelines/${segment(id)}`, { ...options }),
      /** Change a pipeline; a change of what it runs becomes its next revision, which running tasks adopt between two rounds. */
      update: (id: string, body: T.PipelineChange, query: PipelinesUpdateQuery = {}, options: RequestOptions & Tagged & Conditional = {}) =>
        call<T.Pipeline>('PATCH', `/pipelines/${segment(id)}`, { query, body, ...options }),
      /** Say what a change of a pipeline would do, with every fault that the change itself would be refused for; writes nothing. */
      plan: (id: string, body: T.PipelinePlanRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PlanPipelineResponse>('POST', `/pipelines/${segment(id)}/plan`, { body, isRead: true, ...options }),
      /** Stop and delete a pipeline. */
      delete: (id: string, options: RequestOptions & Conditional = {}) =>
        call<T.DeletePipeline202Response | undefined>('DELETE', `/pipelines/${segment(id)}`, { ...options }),
      /** The desired status, and what the tasks report: positions, lag, rates, counters. */
      getStatus: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineStatusResponse>('GET', `/pipelines/${segment(id)}/status`, { ...options }),
      /** Start a created, stopped or failed pipeline. */
      start: (id: string, body?: T.EmptyRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PipelineItem>('POST', `/pipelines/${segment(id)}/start`, { body, ...options }),
      /** Pause after the current round. */
      pause: (id: string, body?: T.EmptyRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PipelineItem>('POST', `/pipelines/${segment(id)}/pause`, { body, ...options }),
      /** Resume after a pause. */
      resume: (id: string, body?: T.EmptyRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PipelineItem>('POST', `/pipelines/${segment(id)}/resume`, { body, ...options }),
      /** Stop after the current round. */
      stop: (id: string, body?: T.EmptyRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PipelineItem>('POST', `/pipelines/${segment(id)}/stop`, { body, ...options }),
      /** Restart the tasks. */
      restart: (id: string, body?: T.EmptyRequest, options: RequestOptions & Conditional = {}) =>
        call<T.PipelineItem>('POST', `/pipelines/${segment(id)}/restart`, { body, ...options }),
      /** Position, end and lag of every partition of the source. */
      getOffsets: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineOffsetsResponse>('GET', `/pipelines/${segment(id)}/offsets`, { ...options }),
      /** Set where a stopped pipeline continues; a position that its sink keeps is set too. */
      resetOffsets: (id: string, body: T.ResetOffsetsRequest, options: RequestOptions & Conditional = {}) =>
        call<T.ResetOffsetsResponse>('POST', `/pipelines/${segment(id)}/offsets`, { body, ...options }),
      /** Records by outcome: totals of the chain over all revisions, and counts per step of the current revision. */
      getAccounting: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineAccountingResponse>('GET', `/pipelines/${segment(id)}/accounting`, { ...options }),
      /** Current rate, lag and totals. */
      getMetrics: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineMetricsResponse>('GET', `/pipelines/${segment(id)}/metrics`, { ...options }),
      /** Which revision handled which offsets: each entry is the first offset of a partition that a revision handled. */
      getLedger: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineLedgerResponse>('GET', `/pipelines/${segment(id)}/ledger`, { ...options }),
      /** Records by outcome and lag over the last hour, in steps of ten seconds, of the chain and of each of its steps. */
      getHistory: (id: string, options: RequestOptions = {}) =>
        call<T.GetPipelineHistoryResponse>('GET', `/pipelines/${segment(id)}/history`, { ...options }),
      /** What the pipeline’s SmartModules and tasks have logged, of the last day; with `follow`, also what they log from now on. */
      getLogs: (id: string, query: PipelinesGetLogsQuery = {}, options: RequestOptions = {}) =>
        call<T.GetPipelineLogsResponse>('GET', `/pipelines/${segment(id)}/logs`, { query, ...options }),
      /** What the pipeline’s SmartModules and tasks have logged, of the last day; with `follow`, also what they log from now on. */
      followLogs: (id: string, query: PipelinesGetLogsQuery = {}, options: ListenOptions = {}) =>
        listen<{ log: T.PipelineLog }>(transport, `/pipelines/${segment(id)}/logs`, { ...query, follow: 'true' }, options),
      /** Records as they pass a place of the pipeline, as server-sent events: sampled where they are many, resumable by Last-Event-ID. */
      tail: (id: string, query: PipelinesTailQuery = {}, options: ListenOptions = {}) =>
        listen<{ frame: T.TailFrame; waiting: T.TailWaiting }>(transport, `/pipelines/${segment(id)}/tail`, query, options),
      /** Run one source record again through the revision that handled it, or another one, and report what each step did. */
      explainRecord: (id: string, query: PipelinesExplainRecordQuery, options: RequestOptions = {}) =>
        call<T.ExplainRecordResponse>('GET', `/pipelines/${segment(id)}/explain`, { query, ...options }),
      /** Run a chain over real records of the source, or over dead letters; writes and commits nothing. */
      preview: (id: string, body?: T.PreviewRequest, options: RequestOptions = {}) =>
        call<T.PreviewPipelineResponse>('POST', `/pipelines/${segment(id)}/preview`, { body, isRead: true, ...options }),
      /** Get what the canary has found: how many records would differ, and examples. */
      getCanary: (id: string, options: RequestOptions = {}) =>
        call<T.GetCanaryResponse>('GET', `/pipelines/${segment(id)}/canary`, { ...options }),
      /** Make the canary’s version the running one: the next revision, which running tasks adopt between two rounds. */
      promoteCanary: (id: string, options: RequestOptions & Tagged & Conditional = {}) =>
        call<T.Pipeline>('POST', `/pipelines/${segment(id)}/canary/promote`, { ...options }),
      /** List the dead letters of a pipeline. */
      listDeadLetters: (id: string, query: PipelinesListDeadLettersQuery = {}, options: RequestOptions = {}) =>
        call<T.ListDeadLettersResponse>('GET', `/pipelines/${segment(id)}/dead-letters`, { query, ...options }),
      /** Every item of `listDeadLetters`; fetches pages as they are needed. */
      allDeadLetters: (id: string, query: Omit<PipelinesListDeadLettersQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) =>
            call<T.ListDeadLettersResponse>('GET', `/pipelines/${segment(id)}/dead-letters`, {
              query: { page_size: PAGE_SIZE, ...query, cursor },
              ...options,
            }),
          (page) => page.dead_letters,
        ),
      /** Run dead letters through the whole chain of the current revision again: selected by id, by filter, or all that are pending. */
      redriveDeadLetters: (id: string, body?: T.RedriveRequest, options: RequestOptions = {}) =>
        call<T.RedriveDeadLetters200Response | T.RedriveDeadLetters202Response>('POST', `/pipelines/${segment(id)}/dead-letters/redrive`, {
          body,
          isIdempotent: true,
          ...options,
        }),
      /** Count dead letters by step, version, error and pattern of the message; the largest groups first, at most 100. */
      listDeadLetterGroups: (id: string, query: PipelinesListDeadLetterGroupsQuery = {}, options: RequestOptions = {}) =>
        call<T.ListDeadLetterGroupsResponse>('GET', `/pipelines/${segment(id)}/dead-letters/groups`, { query, ...options }),
      /** Get one dead letter. */
      getDeadLetter: (id: string, deadLetterId: string, options: RequestOptions = {}) =>
        call<T.DeadLetter>('GET', `/pipelines/${segment(id)}/dead-letters/${segment(deadLetterId)}`, { ...options }),
      /** Run a part of the source through the chain of the current revision again, beside the pipeline. */
      replay: (id: string, body?: T.ReplayRequest, options: RequestOptions = {}) =>
        call<T.Job>('POST', `/pipelines/${segment(id)}/replay`, { body, isIdempotent: true, ...options }),
    },
    jobs: {
      /** List jobs. */
      list: (query: JobsListQuery = {}, options: RequestOptions = {}) => call<T.ListJobsResponse>('GET', '/jobs', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<JobsListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListJobsResponse>('GET', '/jobs', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.jobs,
        ),
      /** Get one job. */
      get: (id: string, options: RequestOptions = {}) => call<T.Job>('GET', `/jobs/${segment(id)}`, { ...options }),
      /** Cancel a job after its current round; what it has committed is kept. */
      cancel: (id: string, body?: T.EmptyRequest, options: RequestOptions = {}) =>
        call<T.Job>('POST', `/jobs/${segment(id)}/cancel`, { body, ...options }),
    },
    session: {
      /** Who the caller is, and what it may do. */
      get: (options: RequestOptions = {}) => call<T.Session>('GET', '/session', { ...options }),
      /** Sign out. */
      delete: (options: RequestOptions = {}) => call<void>('DELETE', '/session', { ...options }),
      /** Set one’s own password; ends one’s other sessions. */
      changePassword: (body: T.ChangePasswordRequest, options: RequestOptions = {}) =>
        call<void>('POST', '/session/password', { body, ...options }),
    },
    members: {
      /** List members. */
      list: (query: MembersListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListMembersResponse>('GET', '/members', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<MembersListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListMembersResponse>('GET', '/members', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.members,
        ),
      /** Invite a member; the invitation’s token is shown only in this response. */
      create: (body: T.CreateMemberRequest, options: RequestOptions = {}) =>
        call<T.CreateMemberResponse>('POST', '/members', { body, ...options }),
      /** Get a member. */
      get: (id: string, options: RequestOptions = {}) => call<T.Member>('GET', `/members/${segment(id)}`, { ...options }),
      /** Change a member’s name or role. */
      update: (id: string, body: T.UpdateMemberRequest, options: RequestOptions = {}) =>
        call<T.Member>('PATCH', `/members/${segment(id)}`, { body, ...options }),
      /** Remove a member and end its sessions. */
      delete: (id: string, options: RequestOptions = {}) => call<void>('DELETE', `/members/${segment(id)}`, { ...options }),
      /** Make a link that signs the member in once, for an invitation that was lost or a forgotten password. */
      createLink: (id: string, options: RequestOptions = {}) =>
        call<T.CreateMemberLinkResponse>('POST', `/members/${segment(id)}/link`, { ...options }),
    },
    secrets: {
      /** List secrets, without their values. */
      list: (query: SecretsListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListSecretsResponse>('GET', '/secrets', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<SecretsListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListSecretsResponse>('GET', '/secrets', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.secrets,
        ),
      /** Store a secret; its value is never shown again. */
      create: (body: T.CreateSecretRequest, options: RequestOptions = {}) =>
        call<T.Secret>('POST', '/secrets', { body, isIdempotent: true, ...options }),
      /** Get one secret, without its value. */
      get: (id: string, options: RequestOptions & Tagged = {}) => call<T.Secret>('GET', `/secrets/${segment(id)}`, { ...options }),
      /** Change a secret’s value or description; pipelines that use it restart with a new value. */
      update: (id: string, body: T.UpdateSecretRequest, options: RequestOptions & Tagged & Conditional = {}) =>
        call<T.Secret>('PATCH', `/secrets/${segment(id)}`, { body, ...options }),
      /** Delete a secret that no pipeline uses. */
      delete: (id: string, options: RequestOptions & Conditional = {}) => call<void>('DELETE', `/secrets/${segment(id)}`, { ...options }),
    },
    streams: {
      /** List streams. */
      list: (query: StreamsListQuery = {}, options: RequestOptions = {}) =>
        call<T.ListStreamsResponse>('GET', '/streams', { query, ...options }),
      /** Every item of `list`; fetches pages as they are needed. */
      all: (query: Omit<StreamsListQuery, 'page' | 'cursor'> = {}, options: RequestOptions = {}) =>
        allOf(
          (cursor) => call<T.ListStreamsResponse>('GET', '/streams', { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options }),
          (page) => page.streams,
        ),
      /** Create a stream: a Kafka topic, new or adopted, with a registered schema. */
      create: (body: T.StreamRequest, options: RequestOptions = {}) =>
        call<T.CreateStreamResponse>('POST', '/streams', { body, isIdempotent: true, ...options }),
      /** Get one stream. */
      get: (id: string, options: RequestOptions & Tagged = {}) => call<T.Stream>('GET', `/streams/${segment(id)}`, { ...options }),
      /** Change a stream’s description, or its schema as its compatibility mode allows; 409 names every conflicting field. */
      update: (id: string, body: T.UpdateStreamRequest, options: RequestOptions & Tagged & Conditional = {}) =>
        call<T.Stream>('PATCH', `/streams/${segment(id)}`, { body, ...options }),
      /** List the schemas that a stream has had, the newest first: as many as fit 2 MiB, the current one always. */
      listSchemas: (id: string, options: RequestOptions = {}) =>
        call<T.ListStreamSchemasResponse>('GET', `/streams/${segment(id)}/schemas`, { ...options }),
      /** What changing to a schema would break: its compatibility, and the pipelines whose configs name changed fields. */
      checkSchema: (id: string, body: T.CheckStreamSchemaRequest, options: RequestOptions = {}) =>
        call<T.CheckStreamSchemaResponse>('POST', `/streams/${segment(id)}/schemas/check`, { body, isRead: true, ...options }),
      /** Delete a stream that no pipeline uses, with its data; an adopted topic and its schemas are kept. */
      delete: (id: string, options: RequestOptions & Conditional = {}) => call<void>('DELETE', `/streams/${segment(id)}`, { ...options }),
      /** Read a page of a stream’s records, each page sorted by time; with a cursor, pages follow one another by time too. */
      getData: (id: string, query: StreamsGetDataQuery = {}, options: RequestOptions = {}) =>
        call<T.GetStreamDataResponse>('GET', `/streams/${segment(id)}/data`, { query, ...options }),
      /** Read records with partition, offset, time, key, headers and the bytes of the value; the newest by default, oldest first. */
      getRecords: (id: string, query: StreamsGetRecordsQuery = {}, options: RequestOptions = {}) =>
        call<T.GetStreamRecordsResponse>('GET', `/streams/${segment(id)}/records`, { query, ...options }),
      /** A stream’s records as they are written, as server-sent events: sampled where they are many, resumable by Last-Event-ID. */
      tail: (id: string, query: StreamsTailQuery = {}, options: ListenOptions = {}) =>
        listen<{ frame: T.TailFrame; waiting: T.TailWaiting }>(transport, `/streams/${segment(id)}/tail`, query, options),
      /** Write records, all or none. */
      writeData: (id: string, body: T.WriteStreamDataRequest, options: RequestOptions = {}) =>
        call<T.WriteStreamDataResponse>('POST', `/streams/${segment(id)}/data`, { body, isIdempotent: true, ...options }),
    },
  }
}
