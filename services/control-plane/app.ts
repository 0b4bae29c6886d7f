/**
 * The HTTP surface: the middleware order as one list, and one handler per operation under both prefixes.
 * unsent-answers → end-refused → request-id → security headers → errors → target → pages → database watch → handler (`respond.ts`)
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
import { notFound, ServiceError } from './service-error.ts'
import type { Deps } from './deps.ts'
import { readConsole } from './console/console-files.ts'
import { readBuilt } from './console/built-files.ts'
import { serveConsole } from './console/serve-console.ts'
import { serveDocs } from './console/serve-docs.ts'
import type { Provider } from './sign-in/provider.ts'
import { serveSignIn } from './sign-in/serve-sign-in.ts'
import { assertTarget } from './http/raw-requests.ts'
import { openSseClients } from './sse/sse-clients.ts'
import { createBodyRoom } from './ingest/body-room.ts'
import { createBodyReads, createPushables, ingest, type FindPushable } from './ingest/ingest.ts'
import { createAudit, type SignInAudit } from './middleware/audit.ts'
import { createAuthenticate, type Authenticate } from './middleware/authenticate.ts'
import { createClientAddress } from './middleware/client-address.ts'
import { endRefused } from './middleware/end-refused.ts'
import { errors } from './middleware/errors.ts'
import { createRateLimit, type RateLimit } from './middleware/rate-limit.ts'
import { readBody } from './http/read-body.ts'
import { requestId } from './middleware/request-id.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { endUnread } from './middleware/unsent-answers.ts'
import { createRespond, send } from './respond.ts'
import { createToken } from './routes/create-token.ts'
import { createSession } from './routes/members/sessions.ts'
import { CONTRACTS, OPERATIONS } from './routes/index.ts'
import { isIdOf } from '../../shared/model/ids.ts'

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
  /** Failed authentications are counted per credential and client address. */
  const guardedFor =
    (ctx: Context) =>
    <T>(key: string, work: () => Promise<T>): Promise<T> =>
      limits.guarded('secret', `${key} ${addressOf(ctx)}`, work)
  const audit = createAudit(deps, OPERATIONS)
  const pushes = { bodies: createBodyReads(), room: createBodyRoom(), find: createPushables(deps) }
  const listeners = openSseClients(authenticate, deps.log)
  const originOf = (ctx: Context) => ({ address: addressOf(ctx), requestId: String(ctx.state.requestId) })
  const respond = createRespond(deps, {
    authenticate: countUnproven(authenticate, limits),
    limits,
    audit,
    listeners,
    originOf,
    guardedFor,
  })
  const router = new Router({ sensitive: true })
  /** What needs no database: it is there while that is away. */
  const pages = new Router({ sensitive: true })

  app.on('error', (error: unknown) => {
    // A client that leaves an event stream.
    if ((error as { code?: unknown } | null)?.code === 'ERR_STREAM_PREMATURE_CLOSE') return
    deps.log.warn({ reason: reasonOf(error) }, 'an answer could not be sent')
  })
  for (const each of [endUnread(), endRefused(), requestId, securityHeaders, errors(deps.log), assertTarget]) app.use(each)
  servePages(pages, CONTRACTS, limits.page)
  serveConsole(pages, readConsole(CONSOLE), limits.page)
  serveDocs(pages, readBuilt(DOCS), limits.page)
  const { provider, plainHttp } = options
  const signInAudit = (ctx: Context) => audit.signIns(createSession.contract, originOf(ctx))
  serveSignIn(router, deps, { provider, isPlain: plainHttp, admit: limits.token, audit: signInAudit })
  for (const prefix of PREFIXES) {
    servePublic(router, prefix, deps, { limits, pushes, addressOf, guardedFor, provider, isPlain: plainHttp, audit: signInAudit })
    for (const operation of OPERATIONS) {
      const { contract } = operation
      router.register(`${prefix}${contract.path}`, [contract.method.toLowerCase()], respond(prefix, operation) as never)
    }
  }

  app.use(pages.routes())
  app.use((_ctx, next) => deps.databaseWatch.during(next))
  app.use(router.routes())
  // No operation matched: 405 if the path exists with another method, else 404.
  app.use(async (ctx) => {
    // Requests with a valid token count towards the rate limit here too.
    const caller = await authenticate(ctx).catch(() => undefined)
    await (caller ? limits.account(ctx, caller) : limits.unproven(ctx))
    const allowed = [...pages.stack, ...router.stack].filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods)
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
