/**
 * The HTTP surface: the middleware order as one list, and one handler per operation under both prefixes.
 * unsent-answers → end-refused → request-id → security headers → errors → target → database watch
 * → [authenticate → rate-limit → few-at-once → scope → room for the answer → body → validate → idempotency → audit] → handler
 */
import { join } from 'node:path'
import Router from '@koa/router'
import Koa, { type Context } from 'koa'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { ingestContract } from '../../shared/api/ingest.ts'
import { getSignInMethodsContract } from '../../shared/api/members.ts'
import { ManifestFile } from '../../shared/api/manifests.ts'
import { openApiDocument } from '../../shared/api/openapi.ts'
import { PREFIXES, type Contract } from '../../shared/api/contract.ts'
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { ERROR_CODES, INVALID_REQUEST_STATUSES } from '../../shared/errors/codes.ts'
import { invalidRequest, lacksScope, notFound, ServiceError, type Detail } from './service-error.ts'
import type { Scope } from '../../shared/model/limits.ts'
import { isStorable } from '../../shared/model/text.ts'
import type { KeyedWrite, Audited, Caller, Deps, Reply } from './deps.ts'
import { readConsole } from './console/console-files.ts'
import { readBuilt } from './console/built-files.ts'
import { serveConsole } from './console/serve-console.ts'
import { serveDocs } from './console/serve-docs.ts'
import type { Provider } from './sign-in/provider.ts'
import { serveSignIn } from './sign-in/serve-sign-in.ts'
import { assertTarget } from './raw-requests.ts'
import { openSseClients } from './sse/sse-clients.ts'
import { createBodyRoom } from './ingest/body-room.ts'
import { createBodyReads, createPushables, ingest, type FindPushable } from './ingest/ingest.ts'
import { createAudit, isAudited, type SignInAudit } from './middleware/audit.ts'
import { createAuthenticate, type Authenticate } from './middleware/authenticate.ts'
import { createClientAddress } from './middleware/client-address.ts'
import { endRefused } from './middleware/end-refused.ts'
import { errors } from './middleware/errors.ts'
import { createFewAtOnce } from './middleware/few-at-once.ts'
import { withIdempotency } from './middleware/idempotency.ts'
import { createRateLimit, type RateLimit } from './middleware/rate-limit.ts'
import { createBodyReader, readBody, textFor } from './read-body.ts'
import { requestId } from './middleware/request-id.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { asSent, createUnsentAnswers, endUnread } from './middleware/unsent-answers.ts'
import { untilClientLeaves } from './middleware/until-client-leaves.ts'
import { validated } from './middleware/validate.ts'
import type { Operation } from './routes/operation.ts'
import { createToken } from './routes/create-token.ts'
import { createSession } from './routes/members/sessions.ts'
import { OPERATIONS } from './routes/index.ts'
import { isIdOf } from '../../shared/model/ids.ts'

/** How many pages, of up to 16 MiB each, are made at once for an account. Waiting ones take no memory yet. */
const PAGES_AT_ONCE = { atOnce: 8, waitingMax: 1000 }

/** Where `make build` puts the console and the documentation. */
const CONSOLE = join(import.meta.dirname, '..', 'console', 'dist')
const DOCS = join(import.meta.dirname, '..', '..', 'docs', 'site', 'dist')

export type AppOptions = {
  prefix: string
  tokenRequestsPerMinute: number
  trustedProxies: readonly string[]
  /** Sessions' cookies are sent without TLS too. */
  plainHttp: boolean
  /** Members sign in with it too. */
  provider: Provider | undefined
}

/** `close` sends clients of event streams away. */
export function createApp(deps: Deps, redis: Redis, options: AppOptions): { app: Koa; close(): Promise<void> } {
  const app = new Koa({ proxy: false })
  const clientAddress = createClientAddress(options.trustedProxies)
  const addressOf = (ctx: Context): string => clientAddress(ctx.req)
  const limits = createRateLimit(redis, options.prefix, options.tokenRequestsPerMinute, addressOf)
  const authenticate = createAuthenticate(deps.db, deps.credentials, limits.assertFewUnproven)
  const counted = countUnproven(authenticate, limits)
  /** Failed authentications are counted per credential and client address. */
  const guardedFor =
    (ctx: Context) =>
    <T>(key: string, work: () => Promise<T>): Promise<T> =>
      limits.guarded('secret', `${key} ${addressOf(ctx)}`, work)
  const audit = createAudit(deps, OPERATIONS)
  const costly = createFewAtOnce()
  const bodies = createBodyReader()
  const pushes = { bodies: createBodyReads(), room: createBodyRoom(), find: createPushables(deps) }
  const unsent = createUnsentAnswers()
  const bulky = createFewAtOnce(PAGES_AT_ONCE)
  const listeners = openSseClients(authenticate, deps.log)
  const router = new Router({ sensitive: true })
  const contracts: Contract[] = [
    createToken.contract,
    createSession.contract,
    getSignInMethodsContract,
    ingestContract,
    ...OPERATIONS.map(({ contract }) => contract),
  ]

  app.on('error', (error: unknown) => {
    // A client that leaves an event stream.
    if ((error as { code?: unknown } | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE') return
    deps.log.warn({ reason: reasonOf(error) }, 'an answer could not be sent')
  })
  for (const each of [endUnread(), endRefused(), requestId, securityHeaders, errors(deps.log), assertTarget]) app.use(each)
  servePages(router, contracts, limits.page)
  serveConsole(router, readConsole(CONSOLE), limits.page)
  serveDocs(router, readBuilt(DOCS), limits.page)
  const { provider, plainHttp } = options
  const originOf = (ctx: Context) => ({ address: addressOf(ctx), requestId: String(ctx.state.requestId) })
  const signInAudit = (ctx: Context) => audit.signIns(createSession.contract, originOf(ctx))
  serveSignIn(router, deps, { provider, isPlain: plainHttp, admit: limits.token, audit: signInAudit })
  for (const prefix of PREFIXES) {
    servePublic(router, prefix, deps, { limits, pushes, addressOf, guardedFor, provider, isPlain: plainHttp, audit: signInAudit })
    for (const operation of OPERATIONS) register(router, prefix, operation)
  }

  function register(target: Router, prefix: string, { contract, handle }: Operation): void {
    const respond = async (ctx: Context): Promise<void> => {
      const caller = { ...(await counted(ctx)), ifMatch: ctx.get('If-Match') || undefined }
      await limits.account(ctx, caller)
      const gate = contract.isCostly ? costly : contract.isBulky ? bulky : undefined
      await (gate ? gate.during(caller.accountId, () => answer(ctx, caller)) : answer(ctx, caller))
    }
    const answer = async (ctx: Context, caller: Caller): Promise<void> => {
      const origin = originOf(ctx)
      const { id } = (ctx as Context & { params?: Record<string, string> }).params ?? {}
      const resourceId = id !== undefined && isStorable(id) ? id : undefined
      const lacking = lackingScope(contract, caller)
      if (lacking !== undefined) {
        if (isAudited(contract)) await audit.refused(contract, caller, origin, resourceId, ERROR_CODES.forbidden.status)
        throw lacksScope(caller, lacking)
      }
      // Checked only now: requests ahead in the queue may have used the room.
      if (contract.isBulky) unsent.assertRoom(caller.accountId)
      const validate = () => readInput(ctx, contract)
      const { records, input } = contract.request.body
        ? await bodies.read(ctx, contract, caller.accountId, validate)
        : { records: undefined, input: validate() }
      const audited: Audited = (inner, subject, work) => audit.during(inner, caller, origin, subject, work)
      const guarded = <T>(work: () => Promise<T>) => guardedFor(ctx)(caller.actorId, work)
      const own = isAudited(contract) ? deps : untilClientLeaves(deps, ctx)
      const handled = (keyed?: KeyedWrite) =>
        handle(own, { ...caller, audited, guarded, keyed, ...(records ? { records } : {}), ...textFor(ctx, contract) }, input as never)
      const work = (keyed?: KeyedWrite) =>
        isAudited(contract) ? audit.during(contract, caller, origin, resourceId, () => handled(keyed)) : handled(keyed)
      const workWithBody = (keyed?: KeyedWrite) => bodies.holding(ctx, caller.accountId, () => work(keyed))
      const key = ctx.get('Idempotency-Key')
      const reply =
        contract.isIdempotent && key !== ''
          ? await withIdempotency(
              deps,
              {
                accountId: caller.accountId,
                key,
                operationId: contract.id,
                path: ctx.path.slice(prefix.length),
                body: records ? records.bytes.toString('latin1') : input.body,
                ...(contract.secretMembers ? { secretFor: caller.actorId } : {}),
              },
              workWithBody,
            )
          : await workWithBody()
      if (reply.events) return listeners.serve(ctx, caller, reply.events)
      // Of HEAD, nothing but the headers is sent.
      if (ctx.method === 'HEAD') return send(ctx, reply, prefix)
      const sent = asSent(reply)
      // A request that changed something must get its answer, however full the buffer is.
      const mayRefuse = !isAudited(contract) && !contract.isIdempotent
      unsent.hold(ctx, caller.accountId, Buffer.byteLength(sent.body ?? ''), mayRefuse)
      send(ctx, sent, prefix)
    }
    target.register(`${prefix}${contract.path}`, [contract.method.toLowerCase()], respond as never)
  }

  app.use((_ctx, next) => deps.databaseWatch.during(next))
  app.use(router.routes())
  // No operation matched: 405 if the path exists with another method, else 404.
  app.use(async (ctx) => {
    // Requests with a valid token count towards the rate limit here too.
    const caller = await authenticate(ctx).catch(() => undefined)
    await (caller ? limits.account(ctx, caller) : limits.unproven(ctx))
    const allowed = router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods)
    if (allowed.length === 0) throw notFound('the path')
    throw new ServiceError('invalid_request', `${ctx.method} is not allowed for this path`, {
      status: INVALID_REQUEST_STATUSES.methodNotAllowed,
      headers: { Allow: [...new Set(allowed)].join(', ') },
    })
  })
  return { app, close: listeners.close }
}

/** Counts requests that prove nothing. */
const countUnproven =
  (authenticate: Authenticate, { unproven }: Pick<RateLimit, 'unproven'>): Authenticate =>
  async (ctx) => {
    try {
      return await authenticate(ctx)
    } catch (error) {
      if (error instanceof ServiceError && error.status === ERROR_CODES.invalid_credentials.status) await unproven(ctx)
      throw error
    }
  }

type PublicOptions = {
  limits: ReturnType<typeof createRateLimit>
  pushes: {
    bodies: ReturnType<typeof createBodyReads>
    room: ReturnType<typeof createBodyRoom>
    find: FindPushable
  }
  addressOf(ctx: Context): string
  guardedFor(ctx: Context): <T>(key: string, work: () => Promise<T>) => Promise<T>
  provider: Provider | undefined
  isPlain: boolean
  audit(ctx: Context): SignInAudit
}

/** The operations that need no token: they prove who the caller is, or what a request is signed with. */
function servePublic(router: Router, prefix: string, deps: Deps, options: PublicOptions): void {
  const { limits, pushes, addressOf, guardedFor, provider, isPlain, audit } = options
  router.post(`${prefix}${createToken.contract.path}`, async (ctx) => {
    await limits.token(ctx)
    await readBody(ctx, createToken.contract)
    send(ctx, await createToken.handle(deps, { body: ctx.request.body, authorization: ctx.get('Authorization'), guarded: guardedFor(ctx) }))
  })
  router.post(`${prefix}${createSession.contract.path}`, async (ctx) => {
    await limits.token(ctx)
    await readBody(ctx, createSession.contract)
    send(ctx, await createSession.handle(deps, { body: ctx.request.body, isPlain, guarded: guardedFor(ctx), audit: audit(ctx) }))
  })
  router.get(`${prefix}${getSignInMethodsContract.path}`, async (ctx) => {
    await limits.page(ctx)
    send(ctx, { status: 200, body: { provider: provider ? { name: provider.name } : null } })
  })
  router.post(`${prefix}${ingestContract.path}`, async (ctx) => {
    const id = ctx.params.pipeline!
    // A sender can invent any number of pipeline ids, and each key would stay in Redis for a minute.
    const unknown = `- ${addressOf(ctx)}`
    const sender = isIdOf('pipeline', id) ? `${id} ${addressOf(ctx)}` : unknown
    const reply = await ingest(deps, ctx, () => pushes.find(id, () => limits.assertFewFailed('signature', unknown)), {
      assertFewFailed: () => limits.assertFewFailed('signature', sender),
      room: pushes.room.during,
      body: (account, read) => pushes.bodies.run(`${account} ${addressOf(ctx)}`, read),
      signed: (work) => limits.guarded('signature', sender, work),
      unknown: (work) => limits.guarded('signature', unknown, work),
      pushed: (account, perSecond) => limits.pushed(ctx, account, perSecond),
    })
    send(ctx, reply)
  })
}

/** What describes the API, made once. Needs no token. */
function servePages(router: Router, contracts: readonly Contract[], admit: (ctx: Context) => Promise<void>): void {
  const pages: [path: string, type: string, body: Buffer | string][] = [
    ['/openapi.json', 'json', Buffer.from(JSON.stringify(openApiDocument(contracts)))],
    ['/manifest.schema.json', 'json', Buffer.from(JSON.stringify(z.toJSONSchema(ManifestFile, { io: 'input' })))],
  ]
  for (const [path, type, body] of pages) {
    router.get(path, async (ctx) => {
      await admit(ctx)
      ctx.type = type
      ctx.body = body
    })
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

function send(ctx: Context, { status, body, headers }: Reply, prefix = ''): void {
  ctx.set(headers ?? {})
  const location = headers?.Location
  // Handlers return a Location without the prefix; add the one that the client used.
  if (location) ctx.set('Location', `${prefix}${location}`)
  ctx.body = body ?? null
  // Afterwards: Koa makes it 204 where the body is null.
  ctx.status = status
}
