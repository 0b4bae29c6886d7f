/** Receives pushed records: checks the signature over the body's raw bytes, then writes the records to the pipeline's intake topic. */
import type { Context } from 'koa'
import { WebhookConfig, webhookConnector } from '../../../shared/connectors/webhook/connector.ts'
import { INVALID_REQUEST_STATUSES } from '../../../shared/errors/codes.ts'
import { ServiceError, tooManyAtOnce } from '../service-error.ts'
import { createSomeAtATime } from '../concurrency/some-at-a-time.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { isIdOf } from '../../../shared/model/ids.ts'
import { ownerOf } from '../../../shared/secrets/envelope.ts'
import { findAccount } from '../store/accounts.ts'
import { quotasOfAccount } from '../store/quotas.ts'
import { findUsing, isPipelineKept } from '../store/pipelines.ts'
import { findSecretByName } from '../store/secrets.ts'
import { encodeHeaders } from '../../../shared/kafka/protocol/record-batch.ts'
import { invalidCredentials } from '../access/credentials.ts'
import type { KeyedWrite, Deps, Reply } from '../deps.ts'
import { assertActive } from '../middleware/authenticate.ts'
import { createAdmittingCache } from '../caches/moment-cache.ts'
import { withIdempotency } from '../middleware/idempotency.ts'
import { UNPACED } from '../concurrency/pacing.ts'
import { withDeadline } from '../concurrency/with-deadline.ts'
import type { Reservation } from './body-room.ts'
import { challengeIn, pushedRecords } from './pushed-records.ts'
import { isSigned } from './signatures.ts'

/** The same error for an unknown pipeline, a pipeline with another source, and a wrong signature. */
const refused = () => invalidCredentials('the signature is missing or wrong')

async function readBytes(ctx: Context, reservation: Reservation): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  // Leaving the loop must not destroy the request: its connection carries the refusal.
  const coming = ctx.req.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const next = await Promise.race([coming.next(), reservation.ended])
      if (next.done) break
      const part = next.value as Buffer
      bytes += part.length
      if (bytes > LIMITS.body_bytes_max)
        throw new ServiceError('invalid_request', `the body has more than ${LIMITS.body_bytes_max} bytes`, {
          status: INVALID_REQUEST_STATUSES.tooLarge,
        })
      reservation.take(part.length)
      parts.push(part)
    }
  } finally {
    // If a part is still being awaited, `return` takes effect only when it arrives.
    void coming.return?.()
  }
  reservation.whole()
  return Buffer.concat(parts)
}

/** The account's secrets that the config names, as far as they exist. */
async function secretsOf(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  accountId: string,
  { secret, previous_secret }: WebhookConfig,
): Promise<string[]> {
  const values: string[] = []
  for (const reference of [secret, previous_secret]) {
    const row = reference && (await findSecretByName(db, accountId, reference.$secret))
    if (row) values.push(secretBox.open(ownerOf(accountId, row.name), row.envelope))
  }
  return values
}

/** Unsigned bodies for one account that are read from one address at once, each of up to 1 MiB; more wait, unread. */
const BODIES_AT_ONCE = 32
const BODY_WAIT_MAX_MS = 5000

/** Reads of bodies before their signatures are known, by account and address: an account may have any number of pipelines. */
export const createBodyReads = (waitMaxMs = BODY_WAIT_MAX_MS) =>
  createSomeAtATime(BODIES_AT_ONCE, waitMaxMs, () => tooManyAtOnce('the sender has too many requests'))

const HEADER_BYTES_MAX = 4096

/** The request headers to keep, encoded as record headers; undefined if there are none. */
function keptHeaders(ctx: Context, { keep_headers }: WebhookConfig): Buffer | undefined {
  const kept = keep_headers
    .map((name): [string, Buffer] => [name.toLowerCase(), Buffer.from(ctx.get(name), 'latin1').subarray(0, HEADER_BYTES_MAX)])
    .filter(([, value]) => value.length > 0)
  return kept.length === 0 ? undefined : encodeHeaders(kept)
}

/** What a push needs of its pipeline. */
export type Pushable = { id: string; account_id: string; topic: string; config: WebhookConfig }

/** The pipeline, which has this connector as its source; undefined for any other. */
async function findPushable({ db }: Pick<Deps, 'db'>, pipelineId: string): Promise<Pushable | undefined> {
  const row = await findUsing(db, pipelineId, webhookConnector.id)
  const source = row?.definition.source
  if (!row || source?.kind !== 'connector' || source.connector_id !== webhookConnector.id) return undefined
  return { id: row.id, account_id: row.account_id, topic: source.topic, config: WebhookConfig.parse(source.config) }
}

export type FindPushable = (pipelineId: string, admitUnknown: () => Promise<void>) => Promise<Pushable | undefined>

/** Caches pipelines by id for a moment, also that an id is unknown. Definitions are large, and this look-up precedes every rate limit. */
export function createPushables(deps: Pick<Deps, 'db'>, now?: () => number): FindPushable {
  const find = createAdmittingCache((id) => findPushable(deps, id), now)
  return async (id, admitUnknown) => (isIdOf('pipeline', id) ? find(id, admitUnknown) : undefined)
}

/** The request's body, and the account that it is signed for. Throws 401 where it is not. */
async function authenticated(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  ctx: Context,
  { id, account_id, config }: Pushable,
  limits: IngestLimits,
  reservation: Reservation,
) {
  // It holds its reservation until it is known to be signed.
  return limits.body(account_id, async () => {
    // A body may come as slowly as its sender likes, so it is no part of the attempt.
    const body = await readBytes(ctx, reservation)
    return limits.signed(async () => {
      const secrets = await secretsOf(deps, account_id, config)
      if (!isSigned(body, (name) => ctx.get(name), config, secrets, Date.now())) throw refused()
      const account = await findAccount(deps.db, account_id)
      // It may be on its way out since it was found.
      if (!account || !(await isPipelineKept(deps.db, id))) throw refused()
      return { body, account }
    })
  })
}

/**
 * The limits that `ingest` needs. `signed` counts failures by pipeline and address, `unknown` by address alone, and `assertFewFailed`
 * throws after too many. `room` bounds the bytes of an account's bodies, `body` how many of them one sender has read at once; `pushed`
 * counts the request towards the account's quota.
 */
export type IngestLimits = {
  assertFewFailed(): Promise<void>
  room<T>(accountId: string, work: (reservation: Reservation) => Promise<T>): Promise<T>
  body<T>(accountId: string, read: () => Promise<T>): Promise<T>
  signed<T>(work: () => Promise<T>): Promise<T>
  unknown<T>(work: () => Promise<T>): Promise<T>
  pushed(accountId: string, perSecond: number): Promise<void>
}

/** Smaller bodies take no time that counts. */
const PACED_BYTES_MIN = 64 << 10

type IngestDeps = Pick<Deps, 'credentials' | 'db' | 'secretBox' | 'streamData' | 'pushPacer'>

/** Throws 401 for a request that is not signed, and 429 before its body is read when its sender had too many of these. */
export async function ingest(
  deps: IngestDeps,
  ctx: Context,
  find: () => Promise<Pushable | undefined>,
  limits: IngestLimits,
): Promise<Reply> {
  await limits.assertFewFailed()
  const found = await find()
  if (!found)
    return limits.unknown<never>(() => {
      throw refused()
    })
  return limits.room(found.account_id, (reservation) => pushed(deps, ctx, found, limits, reservation))
}

async function pushed(deps: IngestDeps, ctx: Context, found: Pushable, limits: IngestLimits, reservation: Reservation): Promise<Reply> {
  const { config } = found
  const { body, account } = await authenticated(deps, ctx, found, limits, reservation)
  assertActive(account)
  await limits.pushed(account.id, quotasOfAccount(account).pushed_requests_per_second)
  const isSmall = body.length < PACED_BYTES_MIN
  const records = await (isSmall
    ? pushedRecords(ctx, body, UNPACED)
    : deps.pushPacer.during(account.id, (pace) => pushedRecords(ctx, body, pace)))
  const challenge = config.scheme === 'slack' ? challengeIn(records) : undefined
  if (challenge !== undefined) return { status: 200, body: { challenge } }
  const target = {
    id: found.id,
    topic: found.topic,
    key_field: config.key ?? null,
  }
  const write = async (keyed?: KeyedWrite): Promise<Reply> => {
    await withDeadline(deps.streamData.writeUnchecked(target, records, keyed, keptHeaders(ctx, config)), 'writing the records')
    return { status: 202, body: { records: records.spans.length / 2 } }
  }
  // A sender may use the same id for several pipelines.
  const webhookId = config.scheme === 'standard' ? `${found.id}/${ctx.get('webhook-id')}` : ''
  const key = ctx.get('Idempotency-Key') || webhookId
  if (key === '') return write()
  const request = { accountId: found.account_id, key, operationId: 'ingest', path: `/ingest/${found.id}`, body: body.toString('base64') }
  return withIdempotency(deps, request, write)
}
