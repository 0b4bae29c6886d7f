/** A task's external sink, opened with the account's secrets. */
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { ConfigRefused, type ConnectorContext } from '../../../shared/connectors/connector.ts'
import type { OpenSink, Written } from '../../../shared/connectors/sink.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'

const refusedOrAway = (error: unknown, refused: string, away: string): Interrupted =>
  error instanceof ConfigRefused ? new Interrupted('sink_refused', refused) : new Interrupted({ kind: 'sink_away', afterMs: 0 }, away)

/** Undefined when the sink is a topic. Throws `sink_refused` for a connector that this processor does not know. */
export async function openSink(definition: PipelineDefinition, context: ConnectorContext): Promise<OpenSink | undefined> {
  const { sink: target } = definition
  if (target.kind === 'topic') return undefined
  const direction = findConnector(target.connector_id)?.sink
  if (!direction?.open)
    throw new Interrupted('sink_refused', `this processor does not know sink ${target.connector_id}: it may be older than the pipeline`)
  const open = await direction.open()
  const { mask } = context
  const sink = await open(target.config, context).catch((error: unknown) => {
    const reason = mask(reasonOf(error))
    throw refusedOrAway(error, reason, `the sink does not open: ${reason}`)
  })
  const { position } = sink
  const keeping = position && {
    position: (...asked: Parameters<typeof position>) =>
      position(...asked).catch((error: unknown) => {
        const reason = mask(reasonOf(error))
        throw refusedOrAway(error, reason, `the sink's position: ${reason}`)
      }),
  }
  return { ...sink, ...keeping, write: async (delivery, rows, signal) => masked(await write(sink, delivery, rows, signal), mask) }
}

/** ConfigRefused is permanent. Anything else a sink throws means that it is unavailable or its driver failed: the task retries. */
async function write(sink: OpenSink, ...parameters: Parameters<OpenSink['write']>): Promise<Written> {
  try {
    return await sink.write(...parameters)
  } catch (error) {
    const reason = reasonOf(error)
    return error instanceof ConfigRefused ? { kind: 'permanent', reason } : { kind: 'retry', afterMs: 0, reason }
  }
}

function masked(written: Written, mask: (text: string) => string): Written {
  if (written.kind === 'delivered') return written
  if (written.kind !== 'at_fault') return { ...written, reason: mask(written.reason) }
  return { ...written, records: written.records.map((record) => ({ ...record, message: mask(record.message) })) }
}
