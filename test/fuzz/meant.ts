/** Meaningful bodies, for the operations that would refuse nearly all random ones; now and then one member is made odd. */
import { oddValue, type Make } from './values.ts'

let count = 0

function stepsOf({ random }: Make): unknown[] {
  const filter = {
    module_id: 'dps/filter',
    config: { field: 'n', operator: random.pick(['eq', 'gte', 'lt']), value: random.between(0, 9) },
  }
  const fields = { module_id: 'dps/map-fields', config: { uppercase: ['text'] } }
  return random.pick([[], [filter], [fields], [filter, fields]])
}

function meant(operationId: string, make: Make): Record<string, unknown> | undefined {
  const { random, names } = make
  const streams = names.ids.get('streams') ?? []
  switch (operationId) {
    case 'createStream':
      return {
        name: `fuzz-${++count}`,
        schema: { n: 'integer', text: 'string?' },
        partitions: random.between(1, 3),
        format: random.pick(['json', 'avro', 'protobuf']),
      }
    case 'writeStreamData':
      return { records: Array.from({ length: random.between(1, 50) }, (_, n) => ({ n, text: random.pick(names.words) })) }
    case 'createPipeline':
    case 'planPipeline':
    case 'updatePipeline': {
      if (streams.length < 2) return undefined
      const change = { name: `fuzz-${++count}`, processors: stepsOf(make), tasks: random.between(1, 2), failure_threshold: 1 }
      if (operationId !== 'createPipeline') return change
      const endpoint = () => ({ connector_id: 'conn_stream', config: { stream_id: random.pick(streams) } })
      return { ...change, source: endpoint(), sink: random.next() < 0.8 ? endpoint() : { connector_id: 'conn_blackhole', config: {} } }
    }
    case 'previewPipeline':
      return { processors: stepsOf(make), limit: random.between(1, 5), from: 'earliest' }
    case 'replayPipeline':
      return streams.length === 0 ? undefined : { sink: { stream_id: random.pick(streams) }, records_per_second: 1000 }
    case 'createSecret':
      return { name: `fuzz-${++count}`, value: random.pick(names.words) }
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
