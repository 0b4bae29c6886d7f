/**
 * A case for each status that an operation may answer. What every operation refuses alike is made from its contract; what is its own, the
 * successes and conflicts, is given by a test. An operation whose contract lists a status without a case fails.
 */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { refusalsOf } from '../../shared/api/openapi.ts'
import type { Contract } from '../../shared/api/contract.ts'
import { LIMITS } from '../../shared/model/limits.ts'
import { patiently, service, type Answer, type Client } from './client.ts'
import { BODIES, pathIn, type OneOfEach } from './one-of-each.ts'

/** Proven for all operations at once: tokens and scopes in `access`, limits in `contract`, requests that are no HTTP in `raw-requests`. */
const ELSEWHERE: ReadonlySet<number> = new Set([401, 403, 429, 431, 500, 503])

/** A request that gets the status, and why. */
export type Case = readonly [status: number, why: string, ask: () => Promise<Pick<Answer, 'status'> & { body: { error?: unknown } }>]

export type Asked = {
  client(): Client
  resources(): OneOfEach
  cases: Record<string, readonly Case[]>
  /** Statuses that can't be brought about here, and when they are answered. */
  unshown?: Record<string, readonly [status: number, when: string]>
}

/** Says how large the body will be, and sends none of it: a client that sends all of it may be cut off before it reads the answer. */
async function announce(client: Client, method: string, path: string, bytes: number): ReturnType<Case[2]> {
  const headers = { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json', 'Content-Length': String(bytes) }
  const sent = request(`${service().apiUrl}${path}`, { method, headers })
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const body = (await json(response)) as { error?: unknown }
  sent.destroy()
  return { status: response.statusCode ?? 0, body }
}

/** The refusals that follow from the contract. */
function refusals(contract: Contract, { client, resources }: Asked): Case[] {
  const { method, request: takes, isConditional, bodyBytesMax = LIMITS.body_bytes_max } = contract
  const body = BODIES[contract.id]
  const ask = (path: string, sent: unknown = body, headers: Record<string, string> = {}) => client().call(method, path, sent, headers)
  const path = () => pathIn(resources(), contract)
  const hasBody = (contract.documentedBody ?? takes.body) !== undefined
  // A query parameter that does not take every text.
  const [typed] = Object.entries(takes.query?.shape ?? {}).find(([, schema]) => !schema.safeParse('x').success) ?? []
  const cases: Case[] = []
  if (hasBody) cases.push([400, 'to a body that is not JSON', () => ask(path(), '{"')])
  else if (typed) cases.push([400, `to a ${typed} that is none`, () => ask(`${path().split('?')[0]}?${typed}=x`)])
  if (refusalsOf(contract).includes(404))
    cases.push([
      404,
      'for an id that is unknown',
      () => ask(pathIn(Object.fromEntries(Object.keys(resources()).map((name) => [name, 'x'])), contract).replace('conn_stream', 'x')),
    ])
  if (isConditional) cases.push([412, 'to an If-Match that is out of date', () => ask(path(), body, { 'If-Match': '"1"' })])
  if (hasBody)
    cases.push(
      [413, 'to a body that is too large', () => announce(client(), method, path(), bodyBytesMax + 1)],
      [415, 'to a body of another type', () => ask(path(), 'x', { 'Content-Type': 'image/png' })],
    )
  return cases
}

/** Defines the tests of the operations. */
export function describeAnswers(contracts: readonly Contract[], asked: Asked): void {
  describe.each(contracts.map((contract) => [contract.id, contract] as const))('%s', (id, contract) => {
    const own = asked.cases[id] ?? []
    const cases = [...own, ...refusals(contract, asked).filter(([status]) => own.every(([known]) => known !== status))]
    it.each(cases)('answers %i %s', async (status, _why, ask) => {
      // What the service has no time for now is asked again.
      const answer = await (status === 503 || status === 429 ? ask() : patiently(ask))
      // A dead letter has an error too.
      const { error } = answer.body
      expect([answer.status, status < 400 ? undefined : error]).toEqual([
        status,
        status < 400 ? undefined : expect.objectContaining({ status }),
      ])
    })

    it('has a case for each status that its contract lists', () => {
      const listed = [...Object.keys(contract.responses).map(Number), ...refusalsOf(contract).filter((status) => !ELSEWHERE.has(status))]
      const shown = new Set([...cases.map(([status]) => status), asked.unshown?.[id]?.[0]])
      // Without a body and parameters that have a type, only what is no HTTP is a 400.
      const missing = listed.filter(
        (status) => !shown.has(status) && !(status === 400 && !contract.request.query && !contract.request.body),
      )
      expect(missing).toEqual([])
    })
  })
}
