/** A task's sink where it is no topic: opened with the account's secrets, and the ways in which it says no. */
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { ConfigRefused, type ConnectorContext } from '../../../shared/connectors/connector.ts'
import type { OpenSink, Written } from '../../../shared/connectors/sink.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'

/** The sink is away or busy: nothing is wrong with the records. */
export class SinkUnavailable extends Error {
  readonly afterMs: number
  constructor(message: string, afterMs: number) {
    super(message)
    this.afterMs = afterMs
  }
}

/** The sink's own position is not where the task stands: somebody else wrote meanwhile, or a commit's answer was lost. */
export class SinkMoved extends Error {}

/** The sink refuses, and no repetition mends it. */
export class SinkRefused extends Error {}

/** Undefined for a sink that is a topic. Throws SinkRefused for a connector that this processor does not know. */
export async function openSink(definition: PipelineDefinition, context: ConnectorContext): Promise<OpenSink | undefined> {
  if (!definition.sink) return undefined
  const direction = findConnector(definition.sink.connector_id)?.sink
  if (!direction?.open)
    throw new SinkRefused(`this processor knows no sink ${definition.sink.connector_id}: it may be older than the pipeline`)
  const open = await direction.open()
  const { mask } = context
  const sink = await open(definition.sink.config, context).catch((error: unknown) => {
    const reason = mask(error instanceof Error ? error.message : String(error))
    throw error instanceof ConfigRefused ? new SinkRefused(reason) : new SinkUnavailable(`the sink does not open: ${reason}`, 0)
  })
  const { position } = sink
  const keeping = position && {
    position: (...asked: Parameters<typeof position>) =>
      position(...asked).catch((error: unknown) => {
        const reason = mask(error instanceof Error ? error.message : String(error))
        throw error instanceof ConfigRefused ? new SinkRefused(reason) : new SinkUnavailable(`the sink's position: ${reason}`, 0)
      }),
  }
  return { ...sink, ...keeping, write: async (delivery, rows, signal) => masked(await write(sink, delivery, rows, signal), mask) }
}

/** What a sink throws is nobody's fault, unless it is ConfigRefused: it is away, or a driver's surprise; the task tries again. */
async function write(sink: OpenSink, ...parameters: Parameters<OpenSink['write']>): Promise<Written> {
  try {
    return await sink.write(...parameters)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return error instanceof ConfigRefused ? { kind: 'permanent', reason } : { kind: 'retry', afterMs: 0, reason }
  }
}

function masked(written: Written, mask: (text: string) => string): Written {
  if (written.kind === 'delivered') return written
  if (written.kind !== 'at_fault') return { ...written, reason: mask(written.reason) }
  return { ...written, records: written.records.map((record) => ({ ...record, message: mask(record.message) })) }
}
