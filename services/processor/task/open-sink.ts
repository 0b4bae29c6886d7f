/** A task's external sink, opened with the account's secrets. */
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import { refusalIn } from '../../../shared/connectors/refusal.ts'
import type { OpenSink, Written } from '../../../shared/connectors/sink.ts'
import { untilAborted } from '../../../shared/waiting/until-aborted.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'

function refusedOrAway(error: unknown, what: string, mask: (text: string) => string): Interrupted {
  const refusal = refusalIn(error)
  return refusal
    ? new Interrupted('sink_refused', mask(refusal.message))
    : new Interrupted({ kind: 'sink_away', afterMs: 0 }, `${what}: ${mask(reasonOf(error))}`)
}

/**
 * Undefined when the sink is a topic. Throws `sink_refused` for a connector that this processor does not know. Once `signal` is aborted it
 * does not wait for the other system, and closes what opens later.
 */
export async function openSink(
  definition: PipelineDefinition,
  context: ConnectorContext,
  signal: AbortSignal,
): Promise<OpenSink | undefined> {
  const { sink: target } = definition
  if (target.kind === 'topic') return undefined
  const direction = findConnector(target.connector_id)?.sink
  if (!direction?.open)
    throw new Interrupted('sink_refused', `this processor does not know sink ${target.connector_id}: it may be older than the pipeline`)
  const open = await direction.open()
  const { mask } = context
  const opening = open(target.config, context)
  const sink = await untilAborted(signal, opening).catch((error: unknown) => {
    void opening.then((late) => late.close()).catch(() => {})
    throw refusedOrAway(error, 'the sink does not open', mask)
  })
  const { position } = sink
  const keeping = position && {
    position: (...asked: Parameters<typeof position>) =>
      position(...asked).catch((error: unknown) => {
        throw refusedOrAway(error, "the sink's position", mask)
      }),
  }
  return { ...sink, ...keeping, write: async (delivery, rows, signal) => masked(await write(sink, delivery, rows, signal), mask) }
}

/** A refusal is permanent. Anything else a sink throws means that it is unavailable or its driver failed: the task retries. */
async function write(sink: OpenSink, ...parameters: Parameters<OpenSink['write']>): Promise<Written> {
  try {
    return await sink.write(...parameters)
  } catch (error) {
    const refusal = refusalIn(error)
    return refusal ? { kind: 'permanent', reason: refusal.message } : { kind: 'retry', afterMs: 0, reason: reasonOf(error) }
  }
}

function masked(written: Written, mask: (text: string) => string): Written {
  if (written.kind === 'delivered') return written
  if (written.kind !== 'at_fault') return { ...written, reason: mask(written.reason) }
  return { ...written, records: written.records.map((record) => ({ ...record, message: mask(record.message) })) }
}
