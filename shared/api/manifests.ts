/** Contracts for manifests: what a set of streams, SmartModules and pipelines should be, by name, planned and then applied. */
import { z } from 'zod'
import { COMPRESSIONS } from '../model/definition.ts'
import { LIMITS } from '../model/limits.ts'
import { areConfigsBounded, Config, Difference, fewMembers, IdParams, JsonObject, Name, Reference } from './common.ts'
import { contract } from './contract.ts'
import { PipelineRequest, ProcessorEntry } from './pipeline-requests.ts'
import { DeployConfig, DeployRequest, EXACT_IN_TESTS, hasOneForm } from './smartmodules.ts'
import { refineStream, StreamRequest } from './streams.ts'

const { name: _stream, ...streamShape } = StreamRequest.shape
/** A stream, as a request makes it, without its name. */
export const StreamPart = z.strictObject(streamShape).meta({ id: 'ManifestStream' })
/** One whose members fit each other. The plan checks that: it names such faults beside all others, and a request's shape comes first. */
export const FittingStreamPart = StreamPart.superRefine(refineStream)
/** A validated stream. */
export type StreamPart = z.output<typeof StreamPart>

const { name: _module, version: _version, ...moduleShape } = DeployRequest.shape
/** A SmartModule: its source, or its binary. A change of either, or of its config or tests, is its next version. */
export const ModulePart = z
  // A manifest says all of it: what it leaves out is not that of the version before.
  .strictObject({ ...moduleShape, config: DeployConfig.default({ input_format: 'json', output_format: 'json' }) })
  .meta({ id: 'ManifestSmartModule' })
/** One whose members fit each other; checked as those of streams are. */
export const FittingModulePart = ModulePart.refine(hasOneForm, {
  path: ['source'],
  message: 'either this or wasm_binary is required, and not both',
})
/** A validated SmartModule. */
export type ModulePart = z.output<typeof ModulePart>

const StreamEnd = z.strictObject({ stream: Name.describe('Of this manifest, or of the account') }).meta({ id: 'ManifestStreamSource' })
const ConnectorEnd = z
  .strictObject({ connector: Reference.describe('Name or id'), with: Config.default({}).describe('Its config') })
  .meta({ id: 'ManifestConnectorEnd' })

const { module_id: _id, config: _config, ...stepShape } = ProcessorEntry.shape
const StepPart = z
  .strictObject({
    module: Reference.describe('Of this manifest, of the account, or a built-in'),
    with: Config.default({}).describe('Its config'),
    ...stepShape,
    version: stepShape.version.describe('The newest by default, also when a later one is deployed'),
  })
  .meta({ id: 'ManifestStep' })

const { name: _name, source: _source, processors: _processors, sink: _sink, ...pipelineShape } = PipelineRequest.shape
/** A pipeline; `autostart` and `start` are for its creation only. */
export const PipelinePart = z
  .strictObject({
    source: z.union([StreamEnd, ConnectorEnd]),
    steps: z
      .array(StepPart)
      .max(LIMITS.chain_steps_max)
      .refine(
        (steps) => areConfigsBounded(...steps.map((step) => step.with)),
        `must have configs of at most ${LIMITS.config_values_max} values together`,
      )
      .default([]),
    sink: z.union([StreamEnd.extend({ compression: z.enum(COMPRESSIONS).optional() }).meta({ id: 'ManifestStreamSink' }), ConnectorEnd]),
    ...pipelineShape,
  })
  .meta({ id: 'ManifestPipeline' })
/** A validated pipeline. */
export type PipelinePart = z.output<typeof PipelinePart>

const PARTS_MAX = 1000
const parts = <T extends z.ZodType>(part: T) =>
  fewMembers(z.record(Name, part), PARTS_MAX, `must have at most ${PARTS_MAX} of each kind`).default({} as never)
/** A set: its members are only what it names, and only they are pruned. */
export const Manifest = z
  .strictObject(
    {
      dps: z.literal(1).describe('The version of this format'),
      set: Name.describe('What owns the members: another set can’t change them'),
      streams: parts(StreamPart),
      smartmodules: parts(ModulePart),
      pipelines: parts(PipelinePart),
    },
    {
      error: ({ code }) =>
        code === 'invalid_type' ? 'must be an object with `dps: 1` and its `set` (see /manifest.schema.json)' : undefined,
    },
  )
  .meta({ id: 'Manifest' })
/** A validated manifest. */
export type Manifest = z.output<typeof Manifest>

const shownParts = z.record(z.string(), JsonObject)
/** A manifest as it is shown: what is by default is left out. To clients it is what a request takes, so that it can be planned again. */
export const ShownManifest = z
  .object({ dps: z.literal(1), set: z.string(), streams: shownParts, smartmodules: shownParts, pipelines: shownParts })
  .meta({ $ref: '#/$defs/Manifest' })
/** A validated one. */
export type ShownManifest = z.output<typeof ShownManifest>

/** As a file says it: sources, binaries and samples may be the names of files beside it. For editors; the service takes `Manifest`. */
export const ManifestFile = z.strictObject({
  ...Manifest.shape,
  smartmodules: parts(
    z.strictObject({
      ...moduleShape,
      source: z.union([z.string().describe('A file: TypeScript, or a binary (.wasm)'), moduleShape.source.unwrap()]).optional(),
      tests: z.union([z.string().describe('A JSON file of samples, or a folder of them'), moduleShape.tests.unwrap()]).optional(),
    }),
  ),
})

/** The kinds of members, in the order in which they are made. */
export const MEMBER_KINDS = ['stream', 'smartmodule', 'pipeline'] as const
/** A kind of member. */
export type MemberKind = (typeof MEMBER_KINDS)[number]

/** One change: `adopt` makes a resource that is in no set a member, without a change to it. */
export const PlannedChange = z
  .object({
    kind: z.enum(MEMBER_KINDS),
    name: z.string(),
    action: z.enum(['create', 'update', 'replace', 'adopt', 'delete']),
    effect: z
      .enum(['live', 'reopen', 'replace'])
      .meta({ id: 'PlannedEffect' })
      .nullable()
      .describe('`live`: between two rounds; `reopen`: its tasks start anew; `replace`: deleted and made anew, its position is lost'),
    adopts: z.boolean().describe('It exists and is in no set: it becomes a member, which can be pruned later'),
    differences: z.array(Difference),
  })
  .meta({ id: 'PlannedChange' })
/** A validated change. */
export type PlannedChange = z.output<typeof PlannedChange>

const Plan = z
  .object({
    set: z.string(),
    hash: z.string().describe('Of this plan: given to apply, exactly this plan is applied or nothing'),
    changes: z.array(PlannedChange).describe('In the order in which they are made'),
    unchanged: z.number().int(),
    warnings: z
      .array(z.object({ path: z.string(), message: z.string() }).meta({ id: 'PlanWarning' }))
      .optional()
      .describe('What can be applied, and may not be meant'),
  })
  .meta({ id: 'ManifestPlan' })

const Asked = {
  manifest: Manifest,
  prune: z.boolean().default(false).describe('Delete members of the set that the manifest no longer names'),
  replace: z.array(Name).max(1000).default([]).describe('Pipelines that may be deleted and made anew, which loses their position'),
}

const EXACT = EXACT_IN_TESTS.map((member) => `/manifest/smartmodules/*/tests/*${member}`)

/** `POST /manifests/plan`: returns 200 with what applying the manifest would change. */
export const planManifestContract = contract({
  id: 'planManifest',
  method: 'POST',
  path: '/manifests/plan',
  summary: 'What applying a manifest would change; changes nothing',
  tag: 'Manifests',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read', 'smartmodules:read'],
  isCostly: true,
  isRead: true,
  bodyBytesMax: LIMITS.smartmodule_body_bytes_max,
  exactMembers: EXACT,
  request: { body: z.strictObject(Asked) },
  responses: { 200: Plan },
})

/** `POST /manifests/apply`: returns 200 once every change of the plan has been made. */
export const applyManifestContract = contract({
  id: 'applyManifest',
  method: 'POST',
  path: '/manifests/apply',
  summary: 'Make the changes that a plan of the manifest names; 409 where the plan with this hash is out of date, and nothing is changed',
  tag: 'Manifests',
  scope: 'pipelines:write',
  alsoScopes: ['pipelines:read', 'streams:read', 'streams:write', 'smartmodules:read', 'smartmodules:write'],
  mayConflict: true,
  bodyBytesMax: LIMITS.smartmodule_body_bytes_max,
  exactMembers: EXACT,
  request: {
    body: z.strictObject({
      ...Asked,
      hash: z.string().max(100).optional().describe('Of the plan to apply; without it, whatever the manifest would change now'),
    }),
  },
  responses: { 200: Plan },
})

/** `GET /manifests`: returns 200 with all sets of the account, by name. */
export const listManifestsContract = contract({
  id: 'listManifests',
  method: 'GET',
  path: '/manifests',
  summary: 'All sets, with how many members of each kind they own',
  tag: 'Manifests',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read', 'smartmodules:read'],
  request: {},
  responses: {
    200: z.object({
      sets: z.array(
        z
          .object({ set: z.string(), streams: z.number().int(), smartmodules: z.number().int(), pipelines: z.number().int() })
          .meta({ id: 'ManifestSet' }),
      ),
    }),
  },
})

/** `GET /manifests/:id`: returns 200 with the set as it is now; 409 where it is larger than a manifest may be. */
export const getManifestContract = contract({
  id: 'getManifest',
  method: 'GET',
  path: '/manifests/:id',
  summary: 'The set as a manifest, whose plan would change nothing; `id` is the set’s name; 409 where it is larger than a manifest may be',
  tag: 'Manifests',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read', 'smartmodules:read'],
  isCostly: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 200: z.object({ manifest: ShownManifest }) },
})
