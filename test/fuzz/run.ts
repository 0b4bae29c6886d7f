/**
 * `make fuzz`: REQUESTS (100,000) requests of our own fuzzer, and then Schemathesis, against the whole service without its rate limits.
 * SEED repeats the same draws, but their effect depends on how eight clients interleave. Fails on a 5xx, on an answer that violates its
 * contract, on an event loop that was blocked for more than 200 ms, and where Schemathesis can't run, unless SCHEMATHESIS=0 leaves it out.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { launch } from '../../deploy/local/launcher.ts'
import { createRandom } from '../chaos/random.ts'
import { assertKept } from '../harness/contract-check.ts'
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { createKept } from './made-resources.ts'
import { MODULE_SOURCE, SIGNED_WITH } from './meaningful-bodies.ts'
import { createRequests, type Document, type FuzzRequest } from './requests.ts'
import { installSchemathesis, runSchemathesis } from './schemathesis.ts'
import type { Names } from './values.ts'
import type { LongTurn } from './watch-turns.ts'

const REQUESTS = Number(process.env.REQUESTS || 100_000)
const SEED = Number(process.env.SEED || Date.now() % 100_000)
const EXAMPLES = Number(process.env.EXAMPLES || 60)
const CLIENTS = 8
const LOOP_HELD_MS_MAX = 200
const SAID_EVERY = 10_000
const LIMITS_CLEARED_MS = 200
const FINDINGS_MAX = 30
/** With a smaller share of successes the requests test too little. */
const DONE_SHARE_MIN = 0.1
/** An operation that was asked so often must have succeeded: refusals alone test too little of it. In a short run it is only named. */
const ASKED_MIN = 300
/** Why these never succeed here. */
const NEVER: Record<string, string> = {
  deleteSession: 'all callers have an API key',
  changePassword: 'all callers have an API key',
}
const ANSWER_MS_MAX = 30_000
const AGAIN_AFTER_MS = 1500

const say = (line: string) => void process.stdout.write(`${line}\n`)
const random = createRandom(SEED)
const python = process.env.SCHEMATHESIS === '0' ? undefined : await installSchemathesis().catch(endWithout)
say(`fuzz: ${REQUESTS.toLocaleString('en')} requests, SEED=${SEED}`)
const folder = await mkdtemp(join(tmpdir(), 'dps-fuzz-'))
const turnsFile = join(folder, 'long-turns')
const watchTurns = pathToFileURL(join(import.meta.dirname, 'watch-turns.ts')).href
const launched = await launch({
  processors: 1,
  say: () => {},
  prefix: 'fuzz',
  env: { LOG_LEVEL: 'error', LONG_TURNS_FILE: turnsFile, NODE_OPTIONS: `--import=${watchTurns}` },
})
const redis = new Redis(launched.env.REDIS_URL!)
const clearing = setInterval(() => {
  void redis.keys(`${launched.env.DPS_PREFIX}:rate:*`).then((keys) => (keys.length > 0 ? redis.del(...keys) : 0))
}, LIMITS_CLEARED_MS)
const findings = new Map<string, { count: number; example: string }>()
const statuses = new Map<number, number>()
/** By operation, how often it gave which status. */
const operations = new Map<string, Map<number, number>>()

function find(what: string, request: FuzzRequest, answer: string): void {
  const known = findings.get(what)
  if (known) known.count++
  else
    findings.set(what, {
      count: 1,
      example: `${request.method} ${request.path.slice(0, 300)} ${JSON.stringify(request.headers)} ${String(request.body ?? '').slice(0, 600)} → ${answer.slice(0, 600)}`,
    })
}

/** Before any request: a run without Schemathesis is not what was asked for. */
function endWithout(error: unknown): never {
  say(`fuzz: not run: ${reasonOf(error)}`)
  process.exit(1)
}

let failed = 0
try {
  const { api_key, api_secret } = await launched.createAccount('Fuzz', 'enterprise')
  const json = { 'Content-Type': 'application/json' }
  const logIn = async () => {
    const answer = await fetch(`${launched.apiUrl}/v1/auth/token`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ api_key, api_secret }),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  const token = await logIn()
  const authorization = `Bearer ${token}`
  const document = (await (await fetch(`${launched.apiUrl}/openapi.json`)).json()) as Document
  const names: Names = {
    ids: new Map([
      ['smartmodules', ['dps/filter', 'dps/map-fields']],
      ['connectors', ['conn_stream', 'conn_log']],
      ['version', ['1.0.0']],
    ]),
    words: ['name', 'value', 'n', 'field', 'stream_id', 'eq', 'integer', 'string', 'true', '1', 'prefix', 'table'],
    binary: Buffer.from(await compileSmartModule(MODULE_SOURCE)).toString('base64'),
  }
  await fetch(`${launched.apiUrl}/v1/secrets`, {
    method: 'POST',
    headers: { ...json, authorization },
    body: JSON.stringify(SIGNED_WITH),
  })
  const nextRequest = createRequests(document, random, names)
  const kept = createKept(names, async (path) => {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const answer = await fetch(`${launched.apiUrl}${path}`, { method: 'DELETE', headers: { authorization }, signal }).catch(() => undefined)
    return answer?.status
  })
  function count({ operationId }: FuzzRequest, status: number): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const asked = operations.get(operationId) ?? new Map<number, number>()
    operations.set(operationId, asked.set(status, (asked.get(status) ?? 0) + 1))
  }

  async function send(request: FuzzRequest, isAgain = false): Promise<void> {
    let answer: Response
    let text: string
    try {
      answer = await fetch(`${launched.apiUrl}${request.path}`, {
        method: request.method,
        headers: { authorization, ...request.headers },
        body: request.body === undefined ? null : typeof request.body === 'string' ? request.body : new Uint8Array(request.body),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      // An event stream has no end: its head is all that is looked at.
      const isEndless = answer.headers.get('content-type')?.startsWith('text/event-stream')
      if (isEndless) {
        count(request, answer.status)
        return await answer.body?.cancel()
      }
      text = await answer.text()
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
      // Headers that the HTTP client itself refuses say nothing about the service.
      if (!/header|not supported|expect/i.test(cause)) find(`no answer: ${cause}`, request, cause)
      return
    }
    count(request, answer.status)
    // A resource that was deleted while it was read is gone the next time.
    if (answer.status === 503 && !isAgain) {
      await sleep(AGAIN_AFTER_MS)
      return send(request, true)
    }
    if (answer.status >= 500) return find(`${request.operationId} answered ${answer.status}`, request, text)
    let body: unknown
    try {
      body = text === '' ? {} : JSON.parse(text)
    } catch {
      return find(`${request.operationId} answered non-JSON`, request, text)
    }
    try {
      assertKept(request.method, request.path, answer.status, body)
    } catch (error) {
      return find(`${request.operationId}: ${error instanceof Error ? error.message.slice(0, 200) : String(error)}`, request, text)
    }
    if (answer.status >= 400 && typeof (body as { error?: { code?: unknown } }).error?.code !== 'string')
      return find(`${request.operationId} answered ${answer.status} without the error envelope`, request, text)
    if (answer.ok && typeof body === 'object' && body !== null) await kept.take(request, answer.status, body as Record<string, unknown>)
  }

  /** The longest time in milliseconds that the event loop was blocked since it was asked before: prom-client starts over at each scrape. */
  async function loopHeldMs(): Promise<number> {
    const metrics = await (await fetch(launched.metricsUrls[0]!)).text()
    return Math.round(Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(metrics)?.[1]) * 1000)
  }
  // What the service does before it answers anything holds up no request.
  await loopHeldMs()
  let sent = 0
  const held: Promise<number>[] = []
  const startedAt = Date.now()
  async function report(count: number): Promise<number> {
    const ms = await loopHeldMs()
    const seconds = Math.round((Date.now() - startedAt) / 1000)
    say(
      `fuzz: ${count.toLocaleString('en')} requests in ${seconds} s; the event loop was blocked for at most ${ms} ms since the line before`,
    )
    return ms
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (sent < REQUESTS) {
        if (++sent % SAID_EVERY === 0) held.push(report(sent))
        await send(nextRequest())
      }
    }),
  )
  const heldMs = Math.max(await report(sent), ...(await Promise.all(held)))
  const turns = readFileSync(turnsFile, 'utf8').split('\n').filter(Boolean)
  const cpuMs = turns
    .map((line) => JSON.parse(line) as LongTurn)
    .filter(({ at }) => at >= startedAt)
    .map((turn) => turn.cpuMs)
  say(
    `fuzz: answers by status: ${[...statuses]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', ')}`,
  )
  say(`fuzz: the event loop was blocked for at most ${heldMs} ms; no turn of it took more than ${Math.max(0, ...cpuMs)} ms of CPU time`)
  if (!(heldMs <= LOOP_HELD_MS_MAX)) failed++
  const done = [...statuses].filter(([status]) => status < 300).reduce((sum, [, times]) => sum + times, 0)
  if (done < sent * DONE_SHARE_MIN)
    find('hardly any request succeeded', { operationId: '', method: '', path: '', headers: {}, body: undefined }, `${done} of ${sent}`)
  for (const [operationId, answers] of operations) {
    const asked = [...answers.values()].reduce((sum, times) => sum + times, 0)
    if (NEVER[operationId] || [...answers.keys()].some((status) => status < 300)) continue
    const [what, example] = [`${operationId} has never succeeded`, [...answers].map(([status, times]) => `${status}: ${times}`).join(', ')]
    if (asked < ASKED_MIN) say(`fuzz: ${what}: ${example}`)
    else findings.set(what, { count: asked, example })
  }
  for (const [what, { count, example }] of [...findings].slice(0, FINDINGS_MAX)) say(`FOUND ${count} × ${what}\n      ${example}`)
  failed += findings.size
  if (python !== undefined && (await runSchemathesis(python, launched.apiUrl, await logIn(), EXAMPLES)) !== 0) failed++
} finally {
  if (failed > 0) say(`the services’ logs are in ${launched.stack.home.logs}`)
  clearInterval(clearing)
  redis.disconnect()
  await launched.close()
  await rm(folder, { recursive: true, force: true })
}
say(`fuzz: ${failed === 0 ? 'nothing found' : `${failed} findings`}${python === undefined ? '; Schemathesis was left out' : ''}`)
process.exit(failed === 0 ? 0 : 1)
