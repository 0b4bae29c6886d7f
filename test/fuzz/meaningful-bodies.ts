/** Meaningful bodies, for the operations that would refuse nearly all random ones; now and then one member is made odd. */
import { createHmac } from 'node:crypto'
import type { Random } from '../chaos/random.ts'
import { oddValue, type Make } from './values.ts'

/** The secret with which requests to `/ingest` are signed. */
export const SIGNED_WITH = { name: 'fuzz-signs', value: 'fuzz signs with this' } as const
/** Of the scheme that `conn_webhook` has by default. */
export const signatureOf = (body: string): string => createHmac('sha256', SIGNED_WITH.value).update(body).digest('hex')

/** A small SmartModule, which fails some records, so that there are dead letters. */
export const MODULE_SOURCE = `import { Path, Record } from 'dps'
const path = new Path('n')
export function filter(record: Record): bool {
  if (record.integer(path) % 3 == 0) record.fail('a third fails', 3)
  return true
}`

let count = 0

const idsOf = ({ names }: Make, kind: string): string[] => names.ids.get(kind) ?? []
const own = (make: Make): string[] => idsOf(make, 'smartmodules').filter((id) => !id.startsWith('dps'))

const filterConfig = (random: Random) => ({ field: 'n', operator: random.pick(['eq', 'gte', 'lt']), value: random.between(0, 9) })

function stepsOf(make: Make): unknown[] {
  const { random } = make
  const filter = { module_id: 'dps/filter', config: filterConfig(random) }
  const fields = { module_id: 'dps/map-fields', config: { uppercase: ['text'] } }
  const deployed = own(make)
  const step = deployed.length > 0 ? { module_id: random.pick(deployed) } : filter
  return random.pick([[], [filter], [fields], [filter, fields], [step], [step, fields]])
}

function deployed(make: Make): Record<string, unknown> {
  const name = make.random.next() < 0.8 ? `fuzz-${++count}` : 'fuzz-module'
  return { name, wasm_binary: make.names.binary, config: { input_format: 'json', output_format: 'json' } }
}

/** A set of a stream, of few names, so that there is something to change and to prune. */
function manifestOf({ random }: Make): Record<string, unknown> {
  const set = `fuzz-set-${random.between(1, 3)}`
  const streams = { [`${set}-${random.between(1, 2)}`]: { schema: { n: 'integer' }, partitions: 1 } }
  return { manifest: { dps: 1, set, streams }, prune: true }
}

function pipelineBody(operationId: string, make: Make): Record<string, unknown> | undefined {
  const { random } = make
  const streams = idsOf(make, 'streams')
  // The version that runs is a canary only with another config.
  if (operationId === 'updatePipeline' && random.next() < 0.5)
    return { canary: { step: 1, version: '1.0.0', config: filterConfig(random), ...random.pick([{}, { shadow: true }, { share: 0.5 }]) } }
  if (streams.length < 2) return undefined
  const change = { name: `fuzz-${++count}`, processors: stepsOf(make), tasks: random.between(1, 2), failure_threshold: 1 }
  if (operationId !== 'createPipeline') return change
  const [from, to] = random.shuffle(streams).map((stream_id) => ({ connector_id: 'conn_stream', config: { stream_id } }))
  const pushed = { connector_id: 'conn_webhook', config: { secret: { $secret: SIGNED_WITH.name } } }
  return {
    ...change,
    autostart: random.next() < 0.8,
    source: random.next() < 0.7 ? from : pushed,
    sink: random.next() < 0.8 ? to : { connector_id: 'conn_blackhole', config: {} },
  }
}

function meant(operationId: string, make: Make): Record<string, unknown> | undefined {
  const { random, names } = make
  const streams = idsOf(make, 'streams')
  switch (operationId) {
    case 'createStream':
      return {
        name: `fuzz-${++count}`,
        schema: { n: 'integer', text: 'string?' },
        partitions: random.between(1, 3),
        format: random.pick(['json', 'avro', 'protobuf']),
      }
    case 'checkStreamSchema':
      return { schema: { n: 'integer', text: 'string?', more: random.pick(['string', 'string?']) } }
    case 'writeStreamData':
      return { records: Array.from({ length: random.between(1, 50) }, (_, n) => ({ n, text: random.pick(names.words) })) }
    case 'createPipeline':
    case 'planPipeline':
    case 'updatePipeline':
      return pipelineBody(operationId, make)
    case 'previewPipeline':
      return { processors: stepsOf(make), limit: random.between(1, 5), from: 'earliest' }
    case 'resetOffsets':
      return { start: random.pick(['earliest', 'latest']) }
    case 'replayPipeline':
      return streams.length === 0 ? undefined : { sink: { stream_id: random.pick(streams) }, records_per_second: 1000 }
    case 'createSecret':
      return { name: `fuzz-${++count}`, value: random.pick(names.words) }
    case 'createMember':
      return { name: `fuzz-${++count}`, email: `fuzz-${count}@example.com`, role: random.pick(['viewer', 'editor', 'owner']) }
    case 'createSession':
      return { sign_in_token: idsOf(make, 'sign_in_token').at(-1) }
    case 'createToken':
      return { ...names.credentials }
    case 'deploySmartModule':
      return deployed(make)
    case 'testSmartModule':
      return {
        processors: [{ module_id: 'dps/map-fields', config: { uppercase: ['text'] } }],
        records: [{ value: { n: random.between(0, 9), text: 'x' } }],
      }
    case 'compareSmartModuleVersions':
      return streams.length === 0 ? undefined : { before: {}, after: { version: '1.0.0' }, stream_id: random.pick(streams) }
    case 'planManifest':
    case 'applyManifest':
      return manifestOf(make)
    case 'validateConnector':
    case 'checkConnector':
      return { side: 'sink', config: streams.length === 0 ? {} : { stream_id: random.pick(streams) } }
    default:
      return undefined
  }
}

/** Undefined for an operation that has no meaningful body here. */
export function meantBody(operationId: string, make: Make): Record<string, unknown> | undefined {
  const body = meant(operationId, make)
  if (body && make.random.next() < make.oddness * 3) body[make.random.pick(Object.keys(body))] = oddValue(make.random)
  return body
}
