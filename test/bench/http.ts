/**
 * `make bench SUITE=http`: records written and read over HTTP by several clients at once, and what they cost the control plane: CPU
 * seconds per million records, and the longest time that its event loop was blocked.
 */
import { launch } from '../../deploy/local/launcher.ts'
import { resources } from './resources.ts'

const WRITE_RECORDS = 5000
const READ_LIMIT = 1000
const CLIENTS = 4
const TOTAL = 1_000_000

/** Longest lag of the event loop since the metrics were last read, in milliseconds. */
async function lagMaxOf(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text()
  return Math.round(Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? 0) * 1000)
}

type Speed = { records_per_second: number; cpu_seconds_per_million: number; loop_held_ms_max: number }

export async function measureHttp(say: (line: string) => void): Promise<{ write: Speed; read: Speed }> {
  const launched = await launch({ processors: 0, way: 'processes', say: () => {}, prefix: 'http', env: { LOG_LEVEL: 'warn' } })
  try {
    const { api_key, api_secret } = await launched.createAccount('Bench', 'enterprise')
    const base = `${launched.apiUrl}/v1`
    const json = { 'content-type': 'application/json' }
    const answer = await fetch(`${base}/auth/token`, { method: 'POST', headers: json, body: JSON.stringify({ api_key, api_secret }) })
    const authorization = `Bearer ${((await answer.json()) as { access_token: string }).access_token}`
    const schema = { id: 'integer', user: 'string', amount: 'number', text: 'string', at: 'datetime' }
    const created = await fetch(`${base}/streams`, {
      method: 'POST',
      headers: { ...json, authorization },
      body: JSON.stringify({ name: 'http', schema, partitions: 4 }),
    })
    const { id } = (await created.json()) as { id: string }
    const pid = launched.controlPlane.pid()!

    async function measured(what: string, work: () => Promise<number>): Promise<Speed> {
      await lagMaxOf(launched.metricsUrls[0]!)
      const cpu = resources(pid).cpuSeconds
      const from = performance.now()
      const records = await work()
      const seconds = (performance.now() - from) / 1000
      const speed = {
        records_per_second: Math.round(records / seconds),
        cpu_seconds_per_million: Math.round(((resources(pid).cpuSeconds - cpu) / records) * 1e8) / 100,
        loop_held_ms_max: await lagMaxOf(launched.metricsUrls[0]!),
      }
      say(
        `${what}: ${speed.records_per_second.toLocaleString('en')} records/s, ${speed.cpu_seconds_per_million} CPU-s per million, event loop blocked for at most ${speed.loop_held_ms_max} ms`,
      )
      return speed
    }

    const lines = Array.from({ length: WRITE_RECORDS }, (_, index) =>
      JSON.stringify({
        id: index,
        user: `user-${index % 997}`,
        amount: index / 7,
        text: 'what was bought, in some words of a customer',
        at: '2026-11-22T10:00:00.000Z',
      }),
    ).join('\n')
    async function write(count: number): Promise<void> {
      for (let done = 0; done < count; done += WRITE_RECORDS) {
        const written = await fetch(`${base}/streams/${id}/data`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-ndjson', authorization },
          body: lines,
        })
        if (written.status !== 201) throw new Error(`writing answered ${written.status}: ${await written.text()}`)
        await written.arrayBuffer()
      }
    }
    await write(50_000)
    const writing = await measured('written', async () => {
      await Promise.all(Array.from({ length: CLIENTS }, () => write(TOTAL / CLIENTS)))
      return TOTAL
    })

    async function read(count: number): Promise<number> {
      let records = 0
      for (let cursor = ''; records < count;) {
        const page = await fetch(`${base}/streams/${id}/data?limit=${READ_LIMIT}${cursor}`, { headers: { authorization } })
        if (page.status !== 200) throw new Error(`reading answered ${page.status}: ${await page.text()}`)
        const text = await page.text()
        // The client's own work is not measured, so nothing is parsed: the cursor is in the last member.
        cursor = `&cursor=${/"next_cursor":"([^"]+)"/.exec(text.slice(-4000))![1]}`
        records += READ_LIMIT
      }
      return records
    }
    await read(20_000)
    const reading = await measured('read', async () => {
      const counts = await Promise.all(Array.from({ length: CLIENTS }, () => read(TOTAL / 4 / CLIENTS)))
      return counts.reduce((sum, each) => sum + each, 0)
    })
    return { write: writing, read: reading }
  } finally {
    await launched.close()
  }
}
