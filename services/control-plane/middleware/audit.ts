/**
 * Writes the audit log: an entry before a request changes anything, completed with its outcome. An entry without one tells of a request
 * whose process died. A resource is shown as its GET shows it, which never includes a secret's value.
 */
import { newId } from '../../../shared/model/ids.ts'
import type { Contract } from '../../../shared/api/contract.ts'
import { ERROR_CODES } from '../../../shared/errors/codes.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { ServiceError } from '../service-error.ts'
import { completeAudit, insertAudit } from '../store/audit.ts'
import type { Caller, Deps, Reply } from '../deps.ts'
import { createSnapshots, isBody } from './audit-snapshots.ts'

/** Where a request came from. */
export type Origin = { address: string; requestId: string }

/** Whether requests of the operation are in the audit log. */
export const isAudited = ({ method, isRead, isUnaudited }: Contract): boolean => method !== 'GET' && !isRead && !isUnaudited

/** The answer without the members that are shown only once. */
function withoutSecrets({ secretMembers = [] }: Contract, body: unknown): unknown {
  if (!isBody(body)) return null
  return Object.fromEntries(Object.entries(body).filter(([name]) => !secretMembers.includes(name)))
}

/** The id of what an answer created. */
function idIn(body: unknown): string | null {
  if (!isBody(body)) return null
  const { id, pipeline_id, job_id } = body
  return [id, job_id, pipeline_id].find((each): each is string => typeof each === 'string') ?? null
}

/** What an entry says of its request. */
const entryOf = (contract: Contract, caller: Caller, { address, requestId }: Origin, resourceId: string | undefined) => ({
  id: newId('audit'),
  account_id: caller.accountId,
  actor: caller.actorId,
  operation: contract.id,
  resource_id: resourceId ?? null,
  address,
  request_id: requestId,
})

/** An operation as far as it is needed to show a resource. */
type Shows = { contract: Contract; handle(deps: Deps, caller: Caller, input: never): Promise<Reply> }

export type Audit = ReturnType<typeof createAudit>

/** Logs how a member fared that wanted to sign in; a request that names no member is in no account's log. */
export type SignInAudit = {
  signedIn(member: SigningIn): Promise<void>
  /** Returns at once, so that known and unknown addresses take equally long; of many refusals in a minute only the first are logged. */
  refused(member: SigningIn): void
}
type SigningIn = { id: string; account_id: string }

/** Entries can't be deleted, and anyone who knows an address can be refused with it. */
const REFUSALS_PER_MINUTE = 10
const MINUTE_MS = 60_000

/** True at most `count` times per id and minute of the clock. */
function atMost(count: number): (id: string) => boolean {
  let minute = 0
  const seen = new Map<string, number>()
  return (id) => {
    const now = Math.floor(Date.now() / MINUTE_MS)
    if (now !== minute) seen.clear()
    minute = now
    const before = seen.get(id) ?? 0
    seen.set(id, before + 1)
    return before < count
  }
}

export function createAudit(deps: Deps, operations: readonly Shows[]) {
  /** The operation that shows the resource which another one is about: `GET /pipelines/:id` for `POST /pipelines/:id/stop`. */
  const getters = new Map(
    operations.flatMap((each) =>
      each.contract.method === 'GET' && /^\/[a-z-]+\/:id$/.test(each.contract.path) ? [[each.contract.path, each]] : [],
    ),
  )

  /** Undefined where there is no such operation, or the resource does not exist. */
  async function shown(contract: Contract, caller: Caller, id: string): Promise<unknown> {
    const getter = getters.get(/^\/[^/]+\/:id/.exec(contract.path)?.[0] ?? '')
    try {
      const { ifMatch: _ifMatch, ...reader } = caller
      return (await getter?.handle(deps, reader, { params: { id }, query: {}, body: undefined } as never))?.body
    } catch (error) {
      if (error instanceof ServiceError && error.status < 500) return undefined
      throw error
    }
  }

  const snapshotOf = createSnapshots(Date.now)
  const mayLogRefusal = atMost(REFUSALS_PER_MINUTE)

  return {
    /** Logs a request that was refused before it could do anything. */
    async refused(contract: Contract, caller: Caller, origin: Origin, resourceId: string | undefined, status: number) {
      await insertAudit(deps.db, { ...entryOf(contract, caller, origin, resourceId), status, before: null, after: null })
    },
    /** Sign-ins, by the operation that stands for all of them. */
    signIns(contract: Contract, { address, requestId }: Origin): SignInAudit {
      const log = async ({ id, account_id }: SigningIn, status: number) => {
        const who = { id: newId('audit'), account_id, actor: id, operation: contract.id, resource_id: null }
        await insertAudit(deps.db, { ...who, address, request_id: requestId, status, before: null, after: null })
      }
      return {
        signedIn: (member) => log(member, 201),
        refused(member) {
          if (!mayLogRefusal(member.id)) return
          log(member, ERROR_CODES.invalid_credentials.status).catch((error: unknown) =>
            deps.log.error({ member_id: member.id, reason: reasonOf(error) }, 'a refused sign-in is not in the audit log'),
          )
        },
      }
    },
    /** Runs `work`, which may change the resource of this id, between the two halves of an entry. */
    async during(
      contract: Contract,
      caller: Caller,
      origin: Origin,
      resourceId: string | undefined,
      work: () => Promise<Reply>,
    ): Promise<Reply> {
      const entry = entryOf(contract, caller, origin, resourceId)
      const { id, resource_id: resource } = entry
      const before = resourceId === undefined ? null : snapshotOf(caller.accountId, await shown(contract, caller, resourceId))
      await insertAudit(deps.db, { ...entry, status: null, before, after: null })
      const complete = (status: number, resource_id: string | null, after: unknown) =>
        completeAudit(deps.db, id, { status, resource_id, after }).catch((error: unknown) =>
          deps.log.error({ id, status, reason: reasonOf(error) }, 'an entry of the audit log was not completed'),
        )
      try {
        const reply = await work()
        const subject = resource ?? idIn(reply.body)
        const after = resourceId === undefined ? reply.body : await shown(contract, caller, resourceId).catch(() => undefined)
        await complete(reply.status, subject, snapshotOf(caller.accountId, withoutSecrets(contract, after)))
        return reply
      } catch (error) {
        // What is not refused may have happened in part.
        const status = error instanceof ServiceError ? error.status : 500
        await complete(status, resource, null)
        throw error
      }
    },
  }
}
