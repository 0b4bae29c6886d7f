/** A processor that stands still (SIGSTOP) in each phase of a round, long enough for its partitions to move, and then goes on. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logTail, openReaper, startChild, type Child, type Reaper } from '../../deploy/local/child.ts'
import { weight } from '../../services/processor/supervisor/placement.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { environmentOf } from '../chaos/faults/faults.ts'
import { FREEZES as FREEZERS, type Freeze } from '../chaos/faults/freezes.ts'
import { readCommitted } from '../chaos/reader.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { childrenOf } from '../harness/child-processes.ts'
import { chainTask } from '../../shared/model/task.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const FREEZES = Object.keys(FREEZERS) as Freeze[]
/** One task for each freezing processor, and some for the others. */
const TASKS = FREEZES.length + 3
const ROOT = join(import.meta.dirname, '..', '..')
let client: Client
let kafka: kafkajs.Kafka
let cluster: Cluster
let reaper: Reaper
/** The processors stand still once this file exists: what they run before is none of this test's. */
let armedBy: string
const children: Child[] = []
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
  cluster = openCluster({ brokers: service().brokers, clientId: 'freeze' })
  reaper = openReaper()
  armedBy = join(service().logFolder, unique('armed'))
})
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()))
  await cluster.close()
  reaper.close()
  rmSync(armedBy, { force: true })
})

/** A processor name whose placement weight for the task is the highest: another of ten would be above it once in ten thousand times. */
function ownerOf(pipelineId: string, task: number): string {
  for (;;) {
    const name = unique('freezes')
    if (weight(name, pipelineId, chainTask(task)) > 0.99999 * 2 ** 48) return name
  }
}

async function startFreezing(name: string, moment: Freeze): Promise<Child> {
  const child = await startChild(
    {
      name,
      command: process.execPath,
      args: ['--no-warnings', join(ROOT, 'services', 'processor', 'main.ts')],
      cwd: ROOT,
      env: { ...service().env, PROCESSOR_ID: name, ...environmentOf(moment, armedBy), METRICS_PORT: '0' },
      logFile: join(service().logFolder, `${name}.log`),
    },
    reaper,
  )
  children.push(child)
  return child
}

/** Whether the kernel shows the process as stopped (proc(5)): the state is the field after the name. */
const isFrozen = ({ pid }: Child): boolean => /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

type Task = { task: number; processor_id: string; status: string }
const tasksOf = async (id: string): Promise<Task[]> =>
  (await client.call<{ tasks: Task[] }>('GET', `/v1/pipelines/${id}/status`)).body.tasks

describe('a processor that stands still', () => {
  it(
    `is fenced when it resumes, in every phase of a round: ${FREEZES.join(', ')}`,
    { timeout: Math.max(900_000, limitMs(480_000)) },
    async () => {
      const schema = { n: 'integer' }
      const [from, to] = [
        await createStream(client, schema, { partitions: TASKS }),
        await createStream(client, schema, { partitions: TASKS }),
      ]
      const id = await createPipeline(client, from.id, [], to.id, { tasks: TASKS })
      const names = FREEZES.map((_, task) => ownerOf(id, task))
      const frozen = await Promise.all(FREEZES.map((moment, task) => startFreezing(names[task]!, moment)))
      const ownTheirs = async () => {
        const tasks = await tasksOf(id)
        const owned = tasks.filter(({ task, processor_id }) => names[task] === processor_id)
        if (owned.length === FREEZES.length) return true
        throw new Error(`${JSON.stringify(tasks)}\n${frozen.map((child) => `${child.name}:\n${logTail(child)}`).join('\n')}`)
      }
      await eventually('each freezing processor has its task', ownTheirs, 60_000)
      writeFileSync(armedBy, '')

      const producer = exactProducer(kafka)
      await producer.connect()
      // Not kafkajs, which may show aborted records: dozens of the frozen processors' transactions abort (docs/decisions/006).
      const read = async () => {
        const seen: number[][] = Array.from({ length: TASKS }, () => [])
        await readCommitted(cluster, to.topic, (partition, _offset, _key, value) => {
          seen[partition]!.push(JSON.parse(value.toString('utf8', 5)).n)
        })
        return seen
      }
      let written = 0
      const writeFor = async (done: () => boolean, deadlineMs: number) => {
        for (const until = Date.now() + deadlineMs; Date.now() < until && !done();) {
          const value = frame(from.schema_id, `{"n":${written++}}`)
          await producer.send({ topic: from.topic, messages: Array.from({ length: TASKS }, (_, partition) => ({ partition, value })) })
          await new Promise((resolve) => setTimeout(resolve, 30))
        }
      }
      const arrived = async () => (await read()).every((partition) => partition.length >= written)

      await writeFor(() => frozen.every(isFrozen), limitMs(180_000))
      expect(frozen.map(isFrozen)).toEqual(frozen.map(() => true))
      // Their partitions move: everything arrives although they stand still.
      await eventually('others have taken over', arrived, 40_000)
      await writeFor(() => false, 1000)
      // Once is enough: a runner that starts later would stand still too, and for ever.
      rmSync(armedBy)
      // Runners first: a supervisor that goes on before them would find them silent.
      for (const { pid } of frozen) for (const each of [...childrenOf(pid), pid]) process.kill(each, 'SIGCONT')
      await writeFor(() => false, 4000)
      await eventually('each resumed processor has its task again', ownTheirs, 60_000)
      await writeFor(() => false, 1000)
      await eventually('all records have arrived', arrived, 30_000)
      // Nothing lost, nothing duplicated, in order.
      const wanted = Array.from({ length: written }, (_, n) => n)
      for (const partition of await read()) expect(partition).toEqual(wanted)
      await producer.disconnect()
      await client.call('POST', `/v1/pipelines/${id}/stop`)
    },
  )
})
