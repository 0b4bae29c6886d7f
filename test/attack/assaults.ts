/** The attacking account: it deploys each hostile module, runs the ones that are accepted, and points connectors at each lying server. */
import type { Kafka } from 'kafkajs'
import { frame } from '../../shared/model/framing.ts'
import { good, type Caller } from './account.ts'
import type { Hostile } from './modules/module-builder.ts'
import { endpointOf, type Told } from './servers/index.ts'
import { exactProducer } from '../harness/exact-producer.ts'

/** How an attack went: `wrong` says what the service should have done instead. */
export type Outcome = { name: string; did: string; tookMs: number; wrong?: string }

export type Ground = { input: string; output: string }

const RECORDS_EVERY_MS = 500
const ANSWER_MS_MAX = 25_000

/** The attacker's streams, with some records all the time, until its process ends. */
export async function prepareGround(call: Caller, kafka: Kafka): Promise<Ground> {
  const stream = async (name: string) => {
    const { id } = good(
      await call<{ id: string }>('POST', '/streams', { name, description: '', schema: { n: 'integer' } }),
      'POST /streams',
    )
    return good(await call<{ id: string; topic: string; schema_id: number }>('GET', `/streams/${id}`), 'GET /streams')
  }
  const [input, output] = [await stream('attack-in'), await stream('attack-out')]
  const producer = exactProducer(kafka)
  await producer.connect()
  let n = 0
  setInterval(() => {
    const messages = Array.from({ length: 20 }, () => ({ value: frame(input.schema_id, JSON.stringify({ n: n++ })) }))
    producer.send({ topic: input.topic, messages }).catch(() => {})
  }, RECORDS_EVERY_MS)
  return { input: input.id, output: output.id }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Lets a pipeline run for a while, and deletes it. */
async function runFor(call: Caller, id: string, ms: number): Promise<string> {
  await sleep(ms)
  const { body } = await call<{ status: string; status_reason: string | null }>('GET', `/pipelines/${id}`)
  await call('POST', `/pipelines/${id}/stop`)
  const gone = await call('DELETE', `/pipelines/${id}`)
  return `${body.status}${body.status_reason ? ` (${body.status_reason.slice(0, 160)})` : ''}${gone.status >= 300 ? `, delete ${gone.status}` : ''}`
}

export async function deploy(call: Caller, ground: Ground, { name, expect, binary }: Hostile, holdMs: number): Promise<Outcome> {
  const upload = await call<{ id: string }>(
    'POST',
    '/smartmodules',
    {
      name: `attack-${name}`,
      wasm_binary: Buffer.from(binary()).toString('base64'),
      config: { input_format: 'json', output_format: 'json' },
    },
    ANSWER_MS_MAX,
  )
  const tookMs = Math.round(upload.tookMs)
  if (upload.status === 0 || upload.status >= 500)
    return { name, did: `upload ${upload.status}`, tookMs, wrong: 'the upload has no proper answer' }
  const wronglyRefused = expect === 'runs' ? { wrong: 'it was to be accepted' } : {}
  if (upload.status !== 201) return { name, did: `upload ${upload.status}`, tookMs, ...wronglyRefused }
  const created = await call<{ pipeline_id: string }>(
    'POST',
    '/pipelines',
    {
      name: `attack-${name}`,
      source: { connector_id: 'conn_stream', config: { stream_id: ground.input } },
      processors: [{ module_id: upload.body.id, config: {} }],
      sink: { connector_id: 'conn_stream', config: { stream_id: ground.output } },
    },
    ANSWER_MS_MAX,
  )
  if (created.status === 0 || created.status >= 500)
    return { name, did: `pipeline ${created.status}`, tookMs: Math.round(created.tookMs), wrong: 'the pipeline has no proper answer' }
  if (created.status !== 201) return { name, did: `pipeline ${created.status}`, tookMs: Math.round(created.tookMs), ...wronglyRefused }
  const did = await runFor(call, created.body.pipeline_id, holdMs)
  return { name, did, tookMs, ...(expect === 'refused' ? { wrong: 'it was to be refused' } : {}) }
}

/** `holdMs`: for how long a pipeline uses it, after it was checked. */
export async function tellLie(call: Caller, ground: Ground, lie: Told, port: number, number: number, holdMs: number): Promise<Outcome> {
  const name = `${lie.protocol}/${lie.name}`
  const { config, secrets, ...endpoint } = endpointOf(lie, port, String(number))
  for (const [secret, value] of Object.entries(secrets)) await call('POST', '/secrets', { name: secret, value })
  const check = await call<{ details?: { message: string }[] }>(
    'POST',
    `/connectors/${endpoint.connector_id}/check`,
    { side: endpoint.direction, config },
    ANSWER_MS_MAX,
  )
  const tookMs = Math.round(check.tookMs)
  if (check.status === 0 || check.status >= 500)
    return { name, did: `check ${check.status}`, tookMs, wrong: 'the check has no proper answer' }
  const checked = `check ${check.status} ${(check.body.details?.[0]?.message ?? '').slice(0, 100)}`
  if (lie.way.startsWith('check')) return { name, did: checked, tookMs }
  const other = (id: string) => ({ connector_id: 'conn_stream', config: { stream_id: id } })
  const own = { connector_id: endpoint.connector_id, config }
  const created = await call<{ pipeline_id: string }>(
    'POST',
    '/pipelines',
    {
      name: `attack-${number}`,
      source: endpoint.direction === 'source' ? own : other(ground.input),
      processors: [],
      sink: endpoint.direction === 'sink' ? own : other(ground.output),
    },
    ANSWER_MS_MAX,
  )
  if (created.status === 0 || created.status >= 500)
    return { name, did: `pipeline ${created.status}`, tookMs, wrong: 'the pipeline has no proper answer' }
  // The creation checks too: what it refuses never runs.
  if (created.status !== 201)
    return { name, did: `${checked}, pipeline ${created.status}`, tookMs, wrong: 'it was refused, so the lie was not told' }
  return { name, did: await runFor(call, created.body.pipeline_id, holdMs), tookMs }
}
