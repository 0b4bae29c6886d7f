/** One account's runner ends: its own pipelines come back or fail with a reason, another account's notice nothing. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { childrenOf, hasEnded } from '../harness/child-processes.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { createPipeline, createStream, readAll, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { killProcess, killProcessors, runningProcessors } from '../harness/processes.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { servingRunners } from '../harness/serving-runners.ts'

let attacker: Client
let victim: Client
beforeAll(async () => {
  attacker = await loggedIn(service().accounts.professional)
  victim = await loggedIn(service().accounts.enterprise)
})

/** Pids of the runners of groups, from the processors' metrics. */
async function runnersWhere(isWanted: (group: string) => boolean): Promise<number[]> {
  return (await servingRunners(service().metricsUrls)).flatMap(({ group, pid }) => (isWanted(group) ? [pid] : []))
}
const runnersOf = (group: string): Promise<number[]> => runnersWhere((name) => name === group)

/** Resident memory that a process shares with no other, in MiB. */
function ownMemory(pid: number): number {
  const [, kib] = /^Private_Dirty: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))!
  return Number(kib) / 1024
}

const accountOf = (streamTopic: string): string => streamTopic.split('.')[1]!

type Setup = { client: Client; id: string; from: string; to: string; account: string }
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()))
})

async function setUp(client: Client): Promise<Setup> {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  const id = await createPipeline(client, from.id, [{ name: 'dps/map-fields', config: {} }], to.id)
  await waitForStatus(client, id, 'running')
  stops.push(() => client.call('POST', `/v1/pipelines/${id}/stop`))
  return { client, id, from: from.id, to: to.id, account: accountOf(from.topic) }
}

async function killRunners(group: string, signal: NodeJS.Signals): Promise<void> {
  const pids = await eventually(`${group} has a runner`, async () => {
    const found = await runnersOf(group)
    return found.length > 0 && found
  })
  for (const pid of pids) killProcess(pid, signal)
  await eventually(`the runner of ${group} is gone`, async () => !(await runnersOf(group)).some((pid) => pids.includes(pid)))
}

describe('a runner', () => {
  it('serves one account, and has neither the environment nor the secrets of its supervisor', async () => {
    const [own, other] = [await setUp(attacker), await setUp(victim)]
    const [first, second] = await Promise.all([runnersOf(`account/${own.account}`), runnersOf(`account/${other.account}`)])
    expect(first).not.toHaveLength(0)
    expect(second).not.toHaveLength(0)
    expect(first.filter((pid) => second.includes(pid))).toEqual([])
    for (const pid of [...first, ...second]) {
      const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .filter(Boolean)
        .map((pair) => pair.split('=')[0])
      expect(
        names.filter(
          (name) => !['NODE_COMPILE_CACHE', 'TMPDIR', 'TZ', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_DIR', 'SSL_CERT_FILE'].includes(name!),
        ),
      ).toEqual([])
      expect(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim()).toBe('500')
    }
  })

  it('that waits without work has given back what its start took', async () => {
    const [processor] = runningProcessors()
    const serving = await runnersWhere(() => true)
    // Its start takes about 140 MiB.
    await eventually('the spare runner has less than 95 MiB of its own', async () => {
      const spare = childrenOf(processor!).filter((pid) => !serving.includes(pid))
      return spare.some((pid) => ownMemory(pid) < 95)
    })
  })

  it('that is killed from outside comes back, and no record is lost or doubled', async () => {
    const own = await setUp(attacker)
    const group = `account/${own.account}`
    for (let round = 0; round < 5; round++) {
      await write(
        own.client,
        own.from,
        Array.from({ length: 100 }, (_, n) => ({ n: round * 100 + n })),
      )
      await killRunners(group, 'SIGKILL')
    }
    await waitForTotal(own.client, own.to, 500)
    const seen = (await readAll(own.client, own.to)).map(({ n }) => Number(n)).sort((a, b) => a - b)
    expect(seen).toEqual(Array.from({ length: 500 }, (_, n) => n))
    // Nothing in it was to blame.
    await waitForStatus(own.client, own.id, 'running')
  })
})

describe('a pipeline that ends its runner again and again', () => {
  it('fails with the reason, on every processor, while another account loses no record and no process', async () => {
    const own = await setUp(attacker)
    const other = await setUp(victim)
    const supervisors = runningProcessors()
    const others = await runnersOf(`account/${other.account}`)
    const plain = await createStream(victim, { n: 'integer' })
    let written = 0
    let late = 0
    let isOver = false
    const tookMs = async (from: string, to: string) => {
      const began = Date.now()
      await write(other.client, from, [{ n: written }])
      await waitForTotal(other.client, to, written + 1)
      return Date.now() - began
    }
    onTestFinished(() => void (isOver = true))
    const load = (async () => {
      while (!isOver) {
        const [itsMs, plainMs] = await Promise.all([tookMs(other.from, other.to), tookMs(plain.id, plain.id)])
        written++
        // Where its task had lost its place, it would take as long as a session of its group, 6 s; what takes as long without a pipeline
        // waits for the machine.
        if (itsMs > plainMs + 5000 && itsMs > limitMs(5000)) late++
        // Well below the account's limit of requests.
        await sleep(200)
      }
    })()
    // It is waited for below.
    load.catch(() => {})
    const statusOf = async () =>
      (await own.client.call<{ status: string; status_reason: string }>('GET', `/v1/pipelines/${own.id}/status`)).body
    // SIGABRT is how V8 ends a process that is out of heap.
    // On a busy machine a runner may not be up yet when its turn comes: rounds are not counted.
    for (const until = Date.now() + limitMs(90_000); Date.now() < until && (await statusOf()).status !== 'failed';) {
      for (const group of [`account/${own.account}`, `suspect/${own.id}`])
        for (const pid of await runnersOf(group)) killProcess(pid, 'SIGABRT')
      await sleep(2500)
    }
    await waitForStatus(own.client, own.id, 'failed')
    expect((await statusOf()).status_reason).toMatch(/runner_ended.*signal SIGABRT/)
    isOver = true
    await load
    expect(late).toBe(0)
    expect((await readAll(other.client, other.to)).map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: written }, (_, n) => n),
    )
    expect(runningProcessors()).toEqual(supervisors)
    // The one that its pipeline runs in; another, of pipelines before, may have ended because it was idle.
    const stillThere = await runnersOf(`account/${other.account}`)
    expect(stillThere).not.toEqual([])
    expect(stillThere.filter((pid) => !others.includes(pid))).toEqual([])
    // A processor that starts now does not try it again.
    await killProcessors()
    await eventually('the new ones run the other pipeline', async () => (await runnersOf(`account/${other.account}`)).length > 0)
    await sleep(3000)
    expect(await runnersOf(`account/${other.account}`)).not.toEqual([])
    expect(await runnersOf(`suspect/${own.id}`)).toEqual([])
    expect((await statusOf()).status).toBe('failed')
    // A start by hand does.
    await own.client.call('POST', `/v1/pipelines/${own.id}/start`)
    await waitForStatus(own.client, own.id, 'running')
  })
})

describe('a supervisor that dies', () => {
  it('takes its runners with it', async () => {
    await setUp(attacker)
    const before = runningProcessors()
    const [pid] = before
    const runners = childrenOf(pid!)
    expect(runners.length).toBeGreaterThan(0)
    killProcess(pid!)
    await eventually('its runners are gone', async () => runners.every(hasEnded))
    await eventually('another one runs in its place', async () => {
      const now = runningProcessors()
      return now.length >= before.length && !now.includes(pid!)
    })
  })
})

describe('a pipeline whose SmartModule takes long for each call', () => {
  it('stops without waiting for its round, and goes on where it was', async () => {
    const COUNT = 100
    const [from, to] = [
      await createStream(attacker, { n: 'integer' }, { partitions: 1 }),
      await createStream(attacker, { n: 'integer' }, { partitions: 1 }),
    ]
    const slow = filterOverN(
      'let x: i64 = value\n  for (let i: i64 = 0; i < 600_000_000; i++) x = x * 6364136223846793005 + i\n  return x != 1',
    )
    const { name } = await deployModule(attacker, slow)
    const id = await createPipeline(attacker, from.id, [], to.id, { autostart: false })
    // One call with all of the records, for most of a minute.
    await attacker.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: name, timeout_ms: 60_000 }] })
    await write(
      attacker,
      from.id,
      Array.from({ length: COUNT }, (_, n) => ({ n })),
    )
    await attacker.call('POST', `/v1/pipelines/${id}/start`)
    await waitForStatus(attacker, id, 'running')
    await sleep(3000)
    const stopping = performance.now()
    await attacker.call('POST', `/v1/pipelines/${id}/stop`)
    await waitForStatus(attacker, id, 'stopped')
    // The call had more than this left.
    expect(performance.now() - stopping).toBeLessThan(45_000)
    expect((await attacker.call('PATCH', `/v1/pipelines/${id}`, { processors: [] })).status).toBe(200)
    await attacker.call('POST', `/v1/pipelines/${id}/start`)
    await waitForTotal(attacker, to.id, COUNT)
    expect((await readAll(attacker, to.id)).map(({ n }) => n)).toEqual(Array.from({ length: COUNT }, (_, n) => n))
    await attacker.call('DELETE', `/v1/pipelines/${id}`)
  })
})
