/**
 * What a workshop does for an account: it compiles and inspects an upload, starts a chain to see whether its configs are accepted, infers
 * the types of its expressions, traces records, and asks the system that a connector's config names. All of it runs an account's code or
 * schema, or talks to its servers.
 */
import { OperatorDefaults } from '../../../shared/connectors/connector.ts'
import { AddressRules } from '../../../shared/connectors/address-guard.ts'
import { z } from 'zod'
import { REASON_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import { SMARTMODULE_KINDS } from '../../../shared/model/smartmodule-kind.ts'
import { SinkCodec } from '../../../shared/model/definition.ts'
import { unpacked } from './packed.ts'
import type { InitDocument } from '../../../shared/smartmodule/abi.ts'

const Bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array)
const Kind = z.enum(SMARTMODULE_KINDS)
const ExtismFunction = z.enum(['filter', 'filter_map', 'array_map', 'map', 'process'])

/** One step to start or trace; `binary` counts the job's binaries from 0, `parameters` is the JSON Schema for its config. */
const Step = z.object({
  binary: z.number().int(),
  kind: Kind,
  extismFunction: ExtismFunction.optional(),
  parameters: z.unknown().optional(),
  document: z.custom<InitDocument>((value) => typeof value === 'object' && value !== null),
})
export type JobStep = z.infer<typeof Step>

const Record_ = z.object({
  timestamp: z.bigint(),
  key: Bytes.nullable(),
  value: Bytes.nullable(),
  headers: z.array(z.tuple([z.string(), Bytes.nullable()])),
})
/** A record as it enters or leaves a step; `timestamp` is in milliseconds. */
export type TracedRecord = z.infer<typeof Record_>

const Input = Record_.extend({ partition: z.number(), offset: z.bigint() })
/** One source record. */
export type TraceInput = z.infer<typeof Input>

/** Why a record fails. */
const RecordFault = z.object({ code: z.string(), message: z.string() })

const TracedStep = z.object({
  in: z.array(Record_),
  out: z.array(Record_),
  outCount: z.number().int(),
  /** What came out is what went in, but for the frames of values. */
  isSame: z.boolean(),
  /** Records were left out of `in` or `out`: the job has no room for more. */
  isCut: z.boolean(),
  /** What the SmartModule has logged meanwhile, and how long it took with the host's part. */
  logs: z.array(z.string()),
  nanoseconds: z.number().int(),
  /** Of the instance, after the record. */
  memoryBytes: z.number().int(),
  error: RecordFault.optional(),
})
/** What went into a step and came out of it; nothing came out when it failed with `error`. */
export type TracedStep = z.infer<typeof TracedStep>

const Outputs = z.object({ records: z.array(Record_), count: z.number().int(), isCut: z.boolean(), refused: RecordFault.optional() })
/**
 * The trace of one source record, up to the last step reached; `outputs` are the records that the sink would get, `refused` says why their
 * values do not fit its schema.
 */
export type Traced = { steps: TracedStep[]; outputs: z.infer<typeof Outputs> }

/** A connector's endpoint, with the secrets that its config names and the operator's defaults. */
const Endpoint = z.object({
  side: z.enum(['source', 'sink']),
  connector_id: z.string(),
  config: z.record(z.string(), z.unknown()),
  runId: z.string(),
  secrets: z.record(z.string(), z.string()),
  defaults: OperatorDefaults,
})
export type JobEndpoint = z.infer<typeof Endpoint>

/** What a topic takes as a sink; of an external system, and of no sink at all, the schema's id is 0. */
const Sink = z.object({
  schemaId: z.number(),
  bytesMax: z.number().optional(),
  needsKeys: z.boolean().optional(),
  codec: SinkCodec.optional(),
})

/** What the sink of a trace takes. */
export type TraceSink = z.infer<typeof Sink>

const Job = z.discriminatedUnion('kind', [
  /** The job's only binary is the upload; `parameters`: the JSON Schema that comes with it. */
  z.object({ kind: z.literal('inspect'), parameters: z.unknown().optional() }),
  /** A source in TypeScript, to be compiled against the SDK. */
  z.object({ kind: z.literal('compile'), code: z.string() }),
  /** A dry run only checks the configs. */
  z.object({ kind: z.literal('start'), kernel: Bytes, steps: z.array(Step), isDryRun: z.boolean() }),
  /** `addresses`: what the requests of plug-ins may reach. */
  z.object({
    kind: z.literal('trace'),
    kernel: Bytes,
    steps: z.array(Step),
    sink: Sink,
    records: z.array(Input),
    addresses: AddressRules,
  }),
  /** `fields`: the types of the records' members that the CEL expressions see. */
  z.object({ kind: z.literal('types'), expressions: z.array(z.string()), fields: z.record(z.string(), z.string()) }),
  z.object({ kind: z.literal('check'), endpoint: Endpoint, withinMs: z.number() }),
  z.object({ kind: z.literal('dispose'), endpoint: Endpoint }),
])
export type Job = z.infer<typeof Job>

/** With the mark of a cut. */
const Reason = z.string().max(REASON_CHARACTERS_MAX + 1)
const Fault = z.object({ path: Reason, message: Reason })

/** What was made of an upload, whose binary comes before it. */
const Made = z.union([
  z.object({ inspected: z.object({ kind: Kind, extismFunction: ExtismFunction.optional() }) }),
  /** `parameters`: the JSON Schema that its class Settings stands for. */
  z.object({ compiled: z.object({ parameters: z.record(z.string(), z.unknown()).optional() }) }),
])

const PlainAnswer = z.union([
  /** What is wrong with a source. */
  z.object({
    uncompiled: z.array(z.object({ message: z.string().max(1000), line: z.number().optional(), column: z.number().optional() })),
  }),
  z.object({ started: z.literal(true) }),
  /** All records were traced; what they did came as progress. */
  z.object({ traced: z.literal(true) }),
  /** What each of the expressions gives. */
  z.object({ types: z.array(z.string()) }),
  z.object({ checked: z.array(Fault) }),
  z.object({ disposed: z.literal(true) }),
  /** Faults of the steps' configs, and why others of the steps do not start; `step` counts from 0. */
  z.object({
    faults: z.array(Fault.extend({ step: z.number() })),
    refusals: z.array(z.object({ step: z.number(), refused: Reason })),
  }),
  /** The upload's `parameters` are not a JSON Schema. */
  z.object({ parameters: Reason }),
  /** Why the job failed; `step` (from 0) is the step at fault. */
  z.object({ refused: Reason, step: z.number().optional() }),
])
/** The answer to a job; `binary`: what an upload was made to, with the limits of memory and tables in it, or compiled to. */
export type Answer = z.infer<typeof PlainAnswer> | (z.infer<typeof Made> & { binary: Uint8Array })

const Progress = z.union([
  z.object({ starting: z.number() }),
  z.object({ entering: z.array(Record_) }),
  z.object({ step: TracedStep }),
  z.object({ outputs: Outputs }),
])
/**
 * What a job is at, so that it is known when a SmartModule never returns: the step (from 0) that is about to start; of a trace, the records
 * that a step is about to get, what the step did, and, after the last step of a source record, its outputs.
 */
export type Progress = z.infer<typeof Progress>

/** A line to a workshop: a job comes after its binaries, which are sent as bytes. */
export const ToWorkshop = z.preprocess(unpacked, Job)
export type ToWorkshop = z.infer<typeof ToWorkshop>
/** A line from a workshop. */
export const FromWorkshop = z.preprocess(
  unpacked,
  z.union([
    z.object({ ready: z.literal(true) }),
    z.object({ made: Made }),
    z.object({ answer: PlainAnswer }),
    z.object({ progress: Progress }),
  ]),
)
export type FromWorkshop = z.infer<typeof FromWorkshop>
