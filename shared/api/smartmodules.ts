/** Contracts for SmartModules: deploy, list, read, delete. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { isStorable } from '../model/text.ts'
import { HOST_PATTERN } from '../model/plug-in-http.ts'
import {
  Config,
  Description,
  fewMembers,
  Flag,
  IdParams,
  JsonObject,
  ListQuery,
  listOf,
  Name,
  Reference,
  SmartModuleKind,
  TimeSort,
} from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'
import { checkChoice, CHOICE, TRACED } from './trials.ts'

/** Formats of the values that a SmartModule reads and writes. */
export const FORMATS = ['json', 'text', 'bytes'] as const
const Format = z.enum(FORMATS).meta({ id: 'ValueFormat' })
const Version = z
  .string()
  .regex(/^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/, 'must be three dotted numbers, for example 1.0.0')

/** A SmartModule with its newest version, as lists show it. */
export const SmartModuleItem = z
  .object({ id: Id, name: z.string(), description: z.string(), version: z.string(), created_at: Timestamp })
  .meta({ id: 'SmartModuleItem' })

/** Where an Extism plug-in may send HTTP requests. */
const AllowedHosts = z
  .array(z.string().regex(HOST_PATTERN, 'must be a host’s name in small letters, *. and a domain, or an IPv4 address'))
  .min(1)
  .max(20)
  .describe('Hosts that an Extism plug-in may send HTTP requests to: names, or `*.` and a domain')

/** What a version is deployed with. */
export const DeployConfig = z
  .strictObject({
    input_format: Format.default('json'),
    output_format: Format.default('json'),
    parameters: JsonObject.optional().describe('JSON Schema for the config of a step that uses the SmartModule'),
    allowed_hosts: AllowedHosts.optional(),
  })
  .meta({ id: 'SmartModuleConfigRequest' })

/** A SmartModule as its author wrote it: one file that imports the SDK alone. */
const Source = z
  .strictObject({
    language: z.literal('typescript'),
    code: z
      .string()
      .min(1, 'must not be empty')
      .max(LIMITS.smartmodule_source_characters_max, `must have at most ${LIMITS.smartmodule_source_characters_max} characters`)
      .refine(isStorable, 'must not contain NUL or unpaired surrogates'),
  })
  .meta({ id: 'SmartModuleSource' })

/** `POST /smartmodules/compile`: returns 200 with what is wrong with a source, or the size of what it becomes. */
export const compileSmartModuleContract = contract({
  id: 'compileSmartModule',
  method: 'POST',
  path: '/smartmodules/compile',
  summary: 'Compile a source without deploying it; says line and column of what is wrong',
  tag: 'SmartModules',
  scope: 'smartmodules:write',
  isRead: true,
  request: { body: z.strictObject({ source: Source }) },
  responses: {
    200: z.object({
      ok: z.boolean(),
      details: z.array(
        z.object({
          path: z.literal('/source/code'),
          message: z.string(),
          line: z.number().int().optional().describe('From 1; missing where it is not at one place'),
          column: z.number().int().optional().describe('From 1'),
          text: z.string().optional().describe('The line, its first 200 characters'),
        }),
      ),
      bytes: z.number().int().optional(),
      sha256: z.string().optional(),
      parameters: JsonObject.optional().describe('JSON Schema of the source’s class Settings'),
    }),
  },
})

/** A step to try: a SmartModule of the account by id or name, or one that is not deployed yet. */
const TrialStep = z
  .strictObject({
    module_id: Reference.optional(),
    version: Version.optional(),
    source: Source.optional(),
    wasm_binary: z.string().min(1, 'must not be empty').optional(),
    input_format: Format.default('json'),
    output_format: Format.default('json'),
    config: Config.default({}),
    name: Name.optional().describe('Of one that is not deployed: what the answer calls it'),
    allowed_hosts: AllowedHosts.optional().describe('Of a plug-in that is not deployed'),
  })
  .refine((step) => [step.module_id, step.source, step.wasm_binary].filter((each) => each !== undefined).length === 1, {
    path: ['module_id'],
    message: 'either this, source or wasm_binary is required, and not more than one',
  })
  .meta({ id: 'TrialStep' })

/** Sources and binaries in one request: each takes a workshop for a while. */
const TRIAL_UPLOADS_MAX = 4

const HEADERS_MAX = 100
const Headers = z.record(z.string(), z.string()).meta({ id: 'TextHeaders' })
const TrialRecord = z
  .strictObject({
    key: z.string().nullable().default(null),
    value: z.unknown().describe('Any JSON value; null is a record without a value'),
    headers: fewMembers(Headers, HEADERS_MAX, `must have at most ${HEADERS_MAX} headers`).default({}),
    timestamp: z.iso.datetime({ offset: true }).optional().describe('The time of the request by default'),
  })
  .meta({ id: 'TrialRecord' })

/** Records and what a SmartModule is to make of them: run whenever a version is deployed. */
export const ModuleTest = z
  .strictObject({
    title: z.string().max(200).default(''),
    config: JsonObject.default({}),
    records: z.array(TrialRecord).min(1).max(LIMITS.preview_records_max),
    out: z.array(z.unknown()).max(1000).describe('Values of the records that come out, in order'),
    failures: z.array(z.string()).max(LIMITS.preview_records_max).default([]).describe('Messages of the records that fail, in order'),
  })
  .meta({ id: 'ModuleTest' })
/** Members of a test whose numbers stay as they are written. */
export const EXACT_IN_TESTS = ['/records/*/value', '/out'] as const
/** A validated test with its defaults filled in. */
export type ModuleTest = z.output<typeof ModuleTest>

const ModuleTestShown = z
  .object({
    title: z.string(),
    config: JsonObject,
    records: z.array(
      z
        .object({ key: z.string().nullable(), value: z.unknown(), headers: Headers, timestamp: z.string().optional() })
        .meta({ id: 'TrialRecordShown' }),
    ),
    out: z.array(z.unknown()),
    failures: z.array(z.string()),
  })
  .meta({ id: 'ModuleTestShown' })

/** `POST /smartmodules/test`: returns 200 with what each step makes of each record; nothing is deployed or written. */
export const testSmartModuleContract = contract({
  id: 'testSmartModule',
  method: 'POST',
  path: '/smartmodules/test',
  summary: 'Run records, given or of a stream or pipeline, through steps that need not be deployed; writes nothing',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  isRead: true,
  bodyBytesMax: LIMITS.smartmodule_body_bytes_max,
  passesTextOn: true,
  exactMembers: ['/records/*/value'],
  mayConflict: true,
  request: {
    body: z
      .strictObject({
        processors: z
          .array(TrialStep)
          .min(1)
          .max(LIMITS.chain_steps_max)
          .refine(
            (steps) => steps.filter(({ module_id }) => module_id === undefined).length <= TRIAL_UPLOADS_MAX,
            `must have at most ${TRIAL_UPLOADS_MAX} that are not deployed`,
          ),
        records: z.array(TrialRecord).min(1).max(LIMITS.preview_records_max).optional(),
        stream_id: Reference.optional().describe('Records of this stream'),
        pipeline_id: Reference.optional().describe('Records of this pipeline’s source, or its dead letters; they end at its sink'),
        ...CHOICE,
      })
      .refine(
        ({ records, stream_id, pipeline_id }) => [records, stream_id, pipeline_id].filter((each) => each !== undefined).length === 1,
        {
          path: ['records'],
          message: 'either this, stream_id or pipeline_id is required, and not more than one',
        },
      )
      .refine(({ dead_letters, pipeline_id }) => dead_letters === undefined || pipeline_id !== undefined, {
        path: ['dead_letters'],
        message: 'are those of a pipeline: pipeline_id is required',
      })
      .superRefine(checkChoice),
  },
  responses: {
    200: z.object(TRACED),
  },
})

/** Whether either a binary or a source is given. */
export const hasOneForm = ({ wasm_binary, source }: { wasm_binary?: unknown; source?: unknown }): boolean =>
  (wasm_binary === undefined) !== (source === undefined)

/** Body that deploys a SmartModule. */
export const DeployRequest = z
  .strictObject({
    name: Name,
    description: Description.optional(),
    version: Version.optional(),
    wasm_binary: z
      .string()
      .min(1, 'must not be empty')
      .optional()
      .describe('WebAssembly in base64, which may have line breaks; either this or `source`'),
    source: Source.optional(),
    tests: z
      .array(ModuleTest)
      .max(10)
      .refine(
        (tests) => Buffer.byteLength(JSON.stringify(tests)) <= LIMITS.smartmodule_tests_bytes_max,
        `must have at most ${LIMITS.smartmodule_tests_bytes_max} bytes together`,
      )
      .optional()
      .describe('Run before the version is deployed, and before each later one; those of the version before by default'),
    config: DeployConfig.optional().describe(
      'Without it, a next version has the formats and parameters of the version before, without its `allowed_hosts`; a source’s own ' +
        'class Settings comes first. A first version reads and writes JSON',
    ),
  })
  .refine(hasOneForm, {
    path: ['wasm_binary'],
    message: 'either this or source is required, and not both',
  })

/** `POST /smartmodules`: returns 201 with the id and the version of the deployed SmartModule. */
export const deploySmartModuleContract = contract({
  id: 'deploySmartModule',
  method: 'POST',
  path: '/smartmodules',
  summary: 'Deploy a SmartModule, as WebAssembly or as a source; under an existing name it becomes the next version',
  tag: 'SmartModules',
  scope: 'smartmodules:write',
  isIdempotent: true,
  bodyBytesMax: LIMITS.smartmodule_body_bytes_max,
  exactMembers: EXACT_IN_TESTS.map((member) => `/tests/*${member}`),
  locatedBy: 201,
  request: {
    body: DeployRequest,
  },
  responses: { 201: z.object({ id: Id, name: z.string(), status: z.string(), version: z.string() }) },
})

/** `GET /smartmodules`: returns 200 with a page of the account's and the built-in SmartModules. */
export const listSmartModulesContract = contract({
  id: 'listSmartModules',
  method: 'GET',
  path: '/smartmodules',
  summary: 'List SmartModules, including the built-in ones',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  request: { query: ListQuery.extend({ kind: SmartModuleKind.optional() }) },
  responses: { 200: listOf('modules', SmartModuleItem) },
})

const SmartModuleStatus = z
  .enum(['deployed', 'quarantined'])
  .describe('`quarantined`: its calls trapped or did not return too often in a pipeline, and no new step may name it')

const SourceShown = z.object({ language: z.literal('typescript'), code: z.string() }).meta({ id: 'SmartModuleSourceShown' })

/** Which SmartModule a request is about. */
export const SmartModuleParams = IdParams.extend({ id: IdParams.shape.id.describe('Its id, or its name') })

/** `GET /smartmodules/:id`: returns 200 with one SmartModule and the details of its newest version. */
export const getSmartModuleContract = contract({
  id: 'getSmartModule',
  method: 'GET',
  path: '/smartmodules/:id',
  summary: 'Get one SmartModule',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  isTagged: true,
  request: { params: SmartModuleParams },
  responses: {
    200: SmartModuleItem.extend({
      status: SmartModuleStatus.describe('Of the newest version'),
      kind: SmartModuleKind,
      sha256: z.string(),
      bytes: z.number().int(),
      built_in: z.boolean(),
      source: SourceShown.optional().describe('Where the newest version was deployed as a source'),
      config: JsonObject,
    }),
  },
})

/** One version of a SmartModule, as lists show it. */
export const SmartModuleVersion = z
  .object({
    version: z.string(),
    status: SmartModuleStatus,
    kind: SmartModuleKind,
    sha256: z.string(),
    bytes: z.number().int(),
    created_at: Timestamp,
  })
  .meta({ id: 'SmartModuleVersion' })

/** `GET /smartmodules/:id/versions`: returns 200 with a page of the versions, the newest first. */
export const listSmartModuleVersionsContract = contract({
  id: 'listSmartModuleVersions',
  method: 'GET',
  path: '/smartmodules/:id/versions',
  summary: 'List the versions of a SmartModule, the newest first',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  request: {
    params: SmartModuleParams,
    query: ListQuery.omit({ status: true, name: true, sort: true }).extend({
      sort: TimeSort.default('-created_at'),
    }),
  },
  responses: { 200: listOf('versions', SmartModuleVersion) },
})

/** `GET /smartmodules/:id/versions/:version`: returns 200 with the version's config and source, on request with its binary. */
export const getSmartModuleVersionContract = contract({
  id: 'getSmartModuleVersion',
  method: 'GET',
  path: '/smartmodules/:id/versions/:version',
  summary: 'Get one version of a SmartModule, with its source, or its binary',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  isCostly: true,
  request: {
    params: SmartModuleParams.extend({ version: z.string() }),
    query: z.object({ binary: Flag.default('false').describe('`true` adds `wasm_binary`') }),
  },
  responses: {
    200: SmartModuleVersion.extend({
      config: JsonObject,
      source: SourceShown.optional(),
      tests: z.array(ModuleTestShown).optional(),
      wasm_binary: z.string().optional().describe('In base64'),
    }),
  },
})

/** `DELETE /smartmodules/:id`: returns 204 once the SmartModule is deleted. */
export const deleteSmartModuleContract = contract({
  id: 'deleteSmartModule',
  method: 'DELETE',
  path: '/smartmodules/:id',
  summary: 'Delete a SmartModule that no pipeline uses',
  tag: 'SmartModules',
  scope: 'smartmodules:write',
  isConditional: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null },
})
