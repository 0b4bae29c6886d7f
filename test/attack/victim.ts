/** The second account: a pipeline under 500 records a second, each timed from its write until a reader at read-committed sees it. */
import { once } from 'node:events'
import { good, type Caller } from './account.ts'
import { startClient } from './client-process.ts'
import { goFirst } from './priorities.ts'

/** What the client's process is told: where it writes and reads. */
export type VictimPlace = { brokers: string[]; from: { topic: string; schemaId: number }; to: { topic: string } }
/** What it answers, by what it is asked. */
export type VictimAnswers = {
  latencies: number[]
  longestGap: number
  finish: { written: number; lost: number; duplicated: number }
}

export type Victim = {
  /** Milliseconds of the records that arrived since the last call. */
  latencies(): Promise<number[]>
  /** The longest time without any arrival since the last call, in milliseconds. */
  longestGap(): Promise<number>
  /** Ends the load, waits for the last records, and compares all of them. */
  finish(): Promise<VictimAnswers['finish']>
}

export const PARTITIONS = 4

type Stream = { id: string; topic: string; schema_id: number }

export async function startVictim(call: Caller, brokers: string[]): Promise<Victim> {
  const stream = async (name: string) => {
    const body = { name, description: '', schema: { n: 'integer', at: 'number' }, partitions: PARTITIONS }
    const { id } = good(await call<{ id: string }>('POST', '/streams', body), 'POST /streams')
    return good(await call<Stream>('GET', `/streams/${id}`), 'GET /streams')
  }
  const [from, to] = [await stream('victim-in'), await stream('victim-out')]
  good(
    await call('POST', '/pipelines', {
      name: 'victim',
      source: { connector_id: 'conn_stream', config: { stream_id: from.id } },
      processors: [{ module_id: 'dps/map-fields', config: { set: { seen: true } } }],
      sink: { connector_id: 'conn_stream', config: { stream_id: to.id } },
    }),
    'POST /pipelines',
  )
  const place: VictimPlace = { brokers, from: { topic: from.topic, schemaId: from.schema_id }, to: { topic: to.topic } }
  // A process of its own: whatever else keeps this one would count as latency.
  const { client, ended } = await startClient('victim-process.ts', place, 'the second account’s client')
  goFirst(client.pid!)
  async function ask<Asked extends keyof VictimAnswers>(what: Asked): Promise<VictimAnswers[Asked]> {
    client.send(what)
    const [answer] = (await Promise.race([once(client, 'message'), ended])) as [VictimAnswers[Asked]]
    return answer
  }
  return {
    latencies: () => ask('latencies'),
    longestGap: () => ask('longestGap'),
    async finish() {
      const found = await ask('finish')
      client.kill('SIGKILL')
      return found
    },
  }
}

/** The value below which the share lies; 0 for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}
