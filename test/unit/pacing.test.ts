/** Long work of accounts: in short turns, one after the other, and with rests. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ownCpuMs } from '../../services/control-plane/concurrency/bounded-work.ts'
import { pushedRecords } from '../../services/control-plane/ingest/pushed-records.ts'
import { createPacer, UNPACED, type Pace } from '../../services/control-plane/concurrency/pacing.ts'
import { pageBytes, readJson } from '../../services/control-plane/stream-data/page-bytes.ts'
import { shownBytes } from '../../services/control-plane/shown/bytes.ts'
import { parsedOf, printJson } from '../../services/control-plane/shown/print-json.ts'
import { showValue } from '../../services/control-plane/shown/records.ts'
import { frame } from '../../shared/model/framing.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

/** By the thread's own time, as it is counted: the machine may be busy with something else. */
const busy = (ms: number) => {
  for (const until = ownCpuMs() + ms; ownCpuMs() < until;);
}
const long =
  (ms: number, count = 1) =>
  (pace: Pace) =>
    pace.turns(count, () => {
      busy(ms)
      return 1 << 20
    })
const timed = async (work: Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work
  return performance.now() - from
}

it('an account rests for several times as long as its long work took; others do not', async () => {
  const pacer = createPacer({ times: 12 })
  await pacer.during('one', long(200))
  const [own, other] = await Promise.all([timed(pacer.during('one', async () => {})), timed(pacer.during('two', async () => {}))])
  expect(own).toBeGreaterThan(2000)
  expect(other).toBeLessThan(own)
  // What is short costs no rest.
  expect(await timed(pacer.during('one', (pace) => pace.turns(1000, () => 100)))).toBeLessThan(own)
  expect(await timed(pacer.during('one', async () => {}))).toBeLessThan(own)
})

it('refuses what would wait too long, or behind too many, says when to come again, and goes on', async () => {
  const pacer = createPacer({ times: 10, waitingMax: 1, waitMs: 600 })
  await pacer.during('one', long(30))
  const waiting = pacer.during('one', async () => 'done')
  const refused = { code: 'rate_limit_exceeded', headers: { 'Retry-After': '1' } }
  await expect(pacer.during('one', async () => {})).rejects.toMatchObject(refused)
  expect(await waiting).toBe('done')
  await pacer.during('one', long(150))
  await expect(pacer.during('one', async () => {})).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
})

it('what has waited begins one by one, and work that fails lets the next one begin', async () => {
  const pacer = createPacer({ times: 1, atOnce: 1 })
  let [now, most] = [0, 0]
  const work = (fails: boolean) =>
    pacer
      .during('one', async () => {
        most = Math.max(most, ++now)
        await sleep(2)
        now--
        if (fails) throw new Error('fails')
      })
      .catch(() => 'failed')
  expect(await Promise.all([true, false, true, false].map(work))).toEqual(['failed', undefined, 'failed', undefined])
  expect(most).toBe(1)
})

it('work that goes on when its request was answered ends at its next turn', async () => {
  const pacer = createPacer()
  let steps = 0
  let left: Promise<void> | undefined
  await pacer.during('one', async (pace) => {
    left = pace.turns(1000, () => {
      steps++
      busy(5)
      return 1 << 20
    })
  })
  await expect(left).rejects.toThrow('answered before')
  expect(steps).toBeLessThan(5)
})

/** For how long of the thread's own time a timer was held up at most while the work went on. */
async function latest(work: () => Promise<unknown>): Promise<number> {
  let [last, most] = [ownCpuMs(), 0]
  const timer = setInterval(() => {
    const now = ownCpuMs()
    most = Math.max(most, now - last)
    last = now
  }, 5)
  await sleep(20)
  await work()
  await sleep(20)
  clearInterval(timer)
  return most
}

const MIB = 1 << 20
const members = Buffer.from(JSON.stringify({ a: Array.from({ length: 85_000 }, (_, index) => ({ [`k${index}`]: 0 })) }))
const nested = Buffer.from(`[${Array.from({ length: MIB / 57 }, () => '['.repeat(28) + ']'.repeat(28)).join(',')}]`)
const framed = Buffer.from(frame(0, members.toString()))
const pages = () =>
  pageBytes(
    Array.from({ length: 16 }, (_, offset) => ({ partition: 0, offset, timestamp: 0, value: framed })),
    readJson,
    () => ({ total: 16, page: 1, limit: 16 }),
    UNPACED,
  )

it('pages of megabytes, and pushes of a megabyte, hold a timer up for less than a quarter of a second', async () => {
  const page = JSON.parse((await pages()).toString()) as { data: { a: unknown[] }[] }
  expect(page.data.map(({ a }) => a.length)).toEqual(Array.from({ length: 16 }, () => 85_000))
  const is = (type: string | string[]) => (type === 'application/json' ? type : false)
  // A slow machine needs longer than requests wait.
  const pacer = createPacer({ waitMs: 600_000 })
  const late = await latest(() =>
    Promise.all([
      ...Array.from({ length: 4 }, () => pacer.during('reads', pages)),
      ...[members, nested].flatMap((body) =>
        Array.from({ length: 8 }, () => pacer.during('pushes', (pace) => pushedRecords({ is } as never, body, pace))),
      ),
      UNPACED.turns(16, () => printJson(showValue(framed, shownBytes())).length),
    ]),
  )
  expect(late).toBeLessThan(limitMs(250))
})

describe('an answer with the JSON of records', () => {
  const printed = (value: unknown) => String(printJson(value))

  it('is printed without parsing it, with its own digits', () => {
    const texts = ['{"a":[1,2.50,"é", 1e400]}', '{"a":[1,2.50,"é"]}', ' [1] ', '"\\ud800"', '[1e400]']
    const values = texts.flatMap((json) => [Buffer.from(json), Buffer.from(frame(7, json))].map((value) => [json, value] as const))
    for (const [json, value] of values)
      expect(printed([{ value: showValue(value) }, 'x'])).toBe(`[{"value":{"base64":"${value.toString('base64')}","json":${json}}},"x"]`)
    for (const none of ['no', Buffer.from([0x22, 0xff, 0x22]), `${'['.repeat(65)}1${']'.repeat(65)}`, '\ufeff1'])
      expect(JSON.parse(printed(showValue(Buffer.from(none as string))))).toMatchObject({ json: null })
    expect(printed(showValue(null))).toBe('null')
    expect(JSON.parse(printed(showValue(Buffer.alloc(9000), { left: 10 })))).toMatchObject({ json: null, truncated: true })
  })

  it('is the same where others print it', () => {
    const values = ['[2.50]', '{}'].map((json) => showValue(Buffer.from(json)))
    expect(JSON.stringify(values)).toBe(printed(values))
    expect(parsedOf(values[1]!.json)).toEqual({})
  })

  it('holds the thread for no longer than copying it takes', async () => {
    const letters = Array.from({ length: 6 }, () => ({ value: showValue(Buffer.from(`[${'1,'.repeat(500_000)}1]`)) }))
    const copied = await bestOf(() => expect(printed(letters).length).toBeGreaterThan(6 * MIB))
    expect(copied).toBeLessThan((await bestOf(() => JSON.stringify(letters))) / 4)
  })
})
