/**
 * How the operations that need a token are answered:
 * authenticate → rate-limit → few-at-once → scope → room for the answer → body → validate → idempotency → audit → handler → answer
 */
import type { Context } from 'koa'
import type { Contract } from '../../shared/api/contract.ts'
import { ERROR_CODES } from '../../shared/errors/codes.ts'
import type { Scope } from '../../shared/model/limits.ts'
import { isStorable } from '../../shared/model/text.ts'
import type { Audited, Caller, Deps, KeyedWrite, Reply } from './deps.ts'
import { createBodyReader, textFor } from './http/read-body.ts'
import { isAudited, type Audit, type Origin } from './middleware/audit.ts'
import type { Authenticate } from './middleware/authenticate.ts'
import { createFewAtOnce } from './concurrency/few-at-once.ts'
import { withIdempotency } from './middleware/idempotency.ts'
import type { RateLimit } from './middleware/rate-limit.ts'
import { asSent, createUnsentAnswers } from './middleware/unsent-answers.ts'
import { untilClientLeaves } from './middleware/until-client-leaves.ts'
import { validated } from './middleware/validate.ts'
import type { Operation } from './routes/operation.ts'
import type { RawRecords } from './http/raw-records.ts'
import { invalidRequest, lacksScope, notFound, type Detail } from './service-error.ts'
import type { SseClients } from './sse/sse-clients.ts'

/** How many pages, of up to 16 MiB each, are made at once for an account. Waiting ones take no memory yet. */
const PAGES_AT_ONCE = { atOnce: 8, waitingMax: 1000 }

export type RespondOptions = {
  /** Counts requests that prove nothing. */
  authenticate: Authenticate
  limits: Pick<RateLimit, 'account'>
  audit: Audit
  listeners: SseClients
  originOf(ctx: Context): Origin
  /** Counts failures to prove who one is. */
  guardedFor(ctx: Context): <T>(key: string, work: () => Promise<T>) => Promise<T>
}

type Asked = { ctx: Context; prefix: string; operation: Operation; caller: Caller; origin: Origin; resourceId: string | undefined }
/** What a request brought: its input, and its raw records where the operation passes them on. */
type Given = { records: RawRecords | undefined; input: ReturnType<typeof readInput> }

/** The handler of an operation for the router, under one of the prefixes. */
export function createRespond(deps: Deps, { authenticate, limits, audit, listeners, originOf, guardedFor }: RespondOptions) {
  const costly = createFewAtOnce()
  const bulky = createFewAtOnce(PAGES_AT_ONCE)
  const bodies = createBodyReader()
  const unsent = createUnsentAnswers()

  async function assertScope({ operation: { contract }, caller, origin, resourceId }: Asked): Promise<void> {
    const lacking = lackingScope(contract, caller)
    if (lacking === undefined) return
    if (isAudited(contract)) await audit.refused(contract, caller, origin, resourceId, ERROR_CODES.forbidden.status)
    throw lacksScope(caller, lacking)
  }

  async function readRequest({ ctx, operation: { contract }, caller }: Asked): Promise<Given> {
    const validate = () => readInput(ctx, contract)
    return contract.request.body ? bodies.read(ctx, contract, caller.accountId, validate) : { records: undefined, input: validate() }
  }

  /** Runs the handler with its entry in the audit log, and with the room that the body takes. */
  function handled(
    { ctx, operation: { contract, handle }, caller, origin, resourceId }: Asked,
    { records, input }: Given,
    keyed?: KeyedWrite,
  ) {
    const audited: Audited = (inner, subject, work) => audit.during(inner, caller, origin, subject, work)
    const guarded = <T>(work: () => Promise<T>) => guardedFor(ctx)(caller.actorId, work)
    const from = { ...caller, audited, guarded, keyed, ...(records ? { records } : {}), ...textFor(ctx, contract) }
    const work = () => handle(isAudited(contract) ? deps : untilClientLeaves(deps, ctx), from, input as never)
    return bodies.holding(ctx, caller.accountId, () =>
      isAudited(contract) ? audit.during(contract, caller, origin, resourceId, work) : work(),
    )
  }

  async function replyTo(asked: Asked, given: Given): Promise<Reply> {
    const { ctx, prefix, operation, caller } = asked
    const { contract } = operation
    const key = ctx.get('Idempotency-Key')
    if (!contract.isIdempotent || key === '') return handled(asked, given)
    const { records, input } = given
    const write = {
      accountId: caller.accountId,
      key,
      operationId: contract.id,
      path: ctx.path.slice(prefix.length),
      body: records ? records.bytes.toString('latin1') : input.body,
      ...(contract.secretMembers ? { secretFor: caller.actorId } : {}),
    }
    return withIdempotency(deps, write, (keyed) => handled(asked, given, keyed))
  }

  async function answer(asked: Asked): Promise<void> {
    const { ctx, prefix, operation, caller } = asked
    const { contract } = operation
    await assertScope(asked)
    // Checked only now: requests ahead in the queue may have used the room.
    if (contract.isBulky) unsent.assertRoom(caller.accountId)
    const reply = await replyTo(asked, await readRequest(asked))
    if (reply.events) return listeners.serve(ctx, caller, reply.events)
    // Of HEAD, nothing but the headers is sent.
    if (ctx.method === 'HEAD') return send(ctx, reply, prefix)
    const sent = asSent(reply)
    // A request that changed something must get its answer, however full the buffer is.
    const mayRefuse = !isAudited(contract) && !contract.isIdempotent
    unsent.hold(ctx, caller.accountId, Buffer.byteLength(sent.body ?? ''), mayRefuse)
    send(ctx, sent, prefix)
  }

  return (prefix: string, operation: Operation) =>
    async (ctx: Context): Promise<void> => {
      const { contract } = operation
      const caller = { ...(await authenticate(ctx)), ifMatch: ctx.get('If-Match') || undefined }
      await limits.account(ctx, caller)
      const { id } = (ctx as Context & { params?: Record<string, string> }).params ?? {}
      const resourceId = id !== undefined && isStorable(id) ? id : undefined
      const asked = { ctx, prefix, operation, caller, origin: originOf(ctx), resourceId }
      const gate = contract.isCostly ? costly : contract.isBulky ? bulky : undefined
      await (gate ? gate.during(caller.accountId, () => answer(asked)) : answer(asked))
    }
}

function lackingScope({ scope, alsoScopes = [] }: Contract, caller: Caller): Scope | undefined {
  return (scope === null ? alsoScopes : [scope, ...alsoScopes]).find((each) => !caller.scopes.includes(each))
}

/** Validates path, query and body by the operation's schemas. Throws 400 with the faults of all three at once. */
function readInput(ctx: Context, { request }: Contract): { params: unknown; query: unknown; body: unknown } {
  const details: Detail[] = []
  const params = { ...(ctx as Context & { params?: Record<string, string> }).params }
  // No id contains NUL, which Postgres rejects even in a query.
  if (Object.values(params).some((value) => !isStorable(value))) throw notFound('the resource')
  const read = (schema: Contract['request']['body'], value: unknown, root: string): unknown => {
    if (!schema) return root === '' ? undefined : {}
    const result = validated(schema, value, root)
    if ('value' in result) return result.value
    details.push(...result.details)
    return undefined
  }
  for (const [name, value] of Object.entries(ctx.query)) {
    if (Array.isArray(value)) details.push({ path: `/query/${name}`, message: 'must not be given more than once' })
  }
  const query = details.length > 0 ? undefined : read(request.query, { ...ctx.query }, '/query')
  const input = {
    params: read(request.params, params, '/path'),
    query,
    body: read(request.body, ctx.request.body, ''),
  }
  if (details.length > 0) throw invalidRequest(details)
  return input
}

/** Sends a handler's reply. */
export function send(ctx: Context, { status, body, headers }: Reply, prefix = ''): void {
  ctx.set(headers ?? {})
  const location = headers?.Location
  // Handlers return a Location without the prefix; add the one that the client used.
  if (location) ctx.set('Location', `${prefix}${location}`)
  ctx.body = body ?? null
  // Afterwards: Koa makes it 204 where the body is null.
  ctx.status = status
}
