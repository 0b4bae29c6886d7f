/** Signing in and out, and one's own password. */
import { changePasswordContract, createSessionContract, deleteSessionContract, getSessionContract } from '../../../../shared/api/members.ts'
import type { Deps, Reply } from '../../deps.ts'
import { invalidCredentials } from '../../credentials.ts'
import type { SignInAudit } from '../../middleware/audit.ts'
import { validated } from '../../middleware/validate.ts'
import { invalidRequest, ServiceError } from '../../service-error.ts'
import { assertPassword, cookieOf, hashPassword, NO_COOKIE, showSession } from '../../sessions.ts'
import { openSession } from '../../sign-in/open-session.ts'
import { findAccount } from '../../store/accounts.ts'
import {
  deleteSession,
  endOtherSessions,
  findMemberByEmail,
  findSession,
  lockMember,
  takeLink,
  updateMember,
  type MemberRow,
} from '../../store/members.ts'
import { operation } from '../operation.ts'

type SignInDeps = Pick<Deps, 'db' | 'credentials'>
type SignIn = {
  body: unknown
  isPlain: boolean
  /** Counts failures with an address, and refuses when there were too many. */
  guarded<T>(key: string, work: () => Promise<T>): Promise<T>
  audit: SignInAudit
}

/** Signs in. Needs no token itself. */
export const createSession = {
  contract: createSessionContract,
  async handle({ db, credentials }: SignInDeps, { body, isPlain, guarded, audit }: SignIn): Promise<Reply> {
    const form = typeof body === 'object' && body !== null && 'sign_in_token' in body ? 1 : 0
    const result = validated(createSessionContract.request.body.options[form], body)
    if ('details' in result) throw invalidRequest(result.details)
    const asked = result.value
    const member = await guarded('email' in asked ? asked.email : 'link', async (): Promise<MemberRow> => {
      if ('email' in asked) {
        const known = await findMemberByEmail(db, asked.email)
        await assertPassword(known, asked.password).catch((error: unknown) => {
          if (known) audit.refused(known)
          throw error
        })
        return known!
      }
      const found = await takeLink(db, credentials.hashOf(asked.sign_in_token))
      if (!found) throw invalidCredentials('the link was used already, or has expired')
      return found
    })
    const { token, active } = await openSession({ db, credentials }, member).catch((error: unknown) => {
      if (error instanceof ServiceError && error.status < 500) audit.refused(member)
      throw error
    })
    await audit.signedIn(member)
    return { status: 201, body: showSession(active), headers: cookieOf(token, isPlain) }
  },
}

export const getSessionOperation = operation(getSessionContract, async ({ db }, { session, accountId, scopes }) => {
  if (session) return { status: 200, body: showSession(session) }
  const { id, name, type } = (await findAccount(db, accountId))!
  return { status: 200, body: { account: { id, name, type }, scopes: [...scopes], member: null, expires_at: null } }
})

const noSession = () => new ServiceError('conflict', 'the caller has an API key, not a session')

export const deleteSessionOperation = operation(deleteSessionContract, async ({ db }, { session }) => {
  if (!session) throw noSession()
  await deleteSession(db, session.tokenHash)
  return { status: 204, headers: NO_COOKIE }
})

export const changePasswordOperation = operation(changePasswordContract, async ({ db }, { session, guarded }, { body }) => {
  if (!session || !guarded) throw noSession()
  // What the session was looked up with may be two seconds old.
  const known = await findSession(db, session.tokenHash)
  if (!known) throw invalidCredentials('the session has ended')
  if (known.password_hash !== null) {
    await guarded(() => assertPassword(known, body.current_password ?? '')).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code !== 'invalid_credentials') throw error
      throw invalidRequest([{ path: '/current_password', message: 'is wrong' }])
    })
  }
  const password_hash = await hashPassword(body.password)
  await db.transaction(async (trx) => {
    const member = await lockMember(trx, known.id)
    if (member?.password_hash !== known.password_hash || !(await findSession(trx, session.tokenHash)))
      throw new ServiceError('conflict', 'the password was changed meanwhile')
    await updateMember(trx, known.id, { password_hash })
    await endOtherSessions(trx, known.id, session.tokenHash)
  })
  return { status: 204 }
})
