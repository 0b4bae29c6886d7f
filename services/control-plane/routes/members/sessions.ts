/** Signing in and out, and one's own password. */
import { inTransaction } from '../../store/database.ts'
import { changePasswordContract, createSessionContract, deleteSessionContract, getSessionContract } from '../../../../shared/api/members.ts'
import type { Deps, Reply } from '../../deps.ts'
import { invalidCredentials } from '../../access/credentials.ts'
import type { SignInAudit } from '../../middleware/audit.ts'
import { validated } from '../../middleware/validate.ts'
import { invalidRequest, ServiceError } from '../../service-error.ts'
import { assertPassword, cookieOf, hashPassword, NO_COOKIE, showSession, whosePassword } from '../../access/sessions.ts'
import { openSession } from '../../sign-in/open-session.ts'
import { findAccount } from '../../store/accounts.ts'
import {
  deleteSession,
  endOtherSessions,
  findLinked,
  findSession,
  findSigningIn,
  lockMember,
  takeLink,
  updateMember,
  type MemberRow,
  type NamedMember,
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

/** For who has proven to be a member of all of them. The console reads the ids and names from it. */
const severalAccounts = (found: readonly NamedMember[]): ServiceError =>
  new ServiceError('conflict', 'the address and password are those of several accounts: say which one with account_id', {
    details: found.map(({ account_id, account_name }) => ({ path: '/account_id', message: `${account_id} is ${account_name}` })),
  })

/** Asked with the member locked. */
type Proof = NonNullable<Parameters<typeof openSession>[2]>
type Proven = { member: MemberRow; prove: Proof }

type ByPassword = { email: string; password: string; account_id?: string | undefined }

/**
 * The member with this password. A wrong one for an account that knows the address is a failure, and that account is told, even if it is
 * right for another: anyone may add an address to their own account, with a password to compare guesses with.
 */
async function byPassword({ db }: Pick<Deps, 'db'>, asked: ByPassword, guarded: SignIn['guarded'], audit: SignInAudit): Promise<Proven> {
  const { known, found } = await guarded(asked.email, async () => {
    const known = await findSigningIn(db, 'password_hash', asked.email, asked.account_id)
    const found = await whosePassword(known, asked.password).catch((error: unknown) => {
      for (const each of known) audit.refused(each)
      throw error
    })
    return { known, found }
  })
  for (const each of known) if (!found.includes(each)) audit.refused(each)
  if (found.length < known.length || found.length > 1)
    await guarded(asked.email, () => Promise.reject(invalidCredentials('it is wrong for another account'))).catch(() => {})
  if (found.length > 1) throw severalAccounts(found)
  const member = found[0]!
  const prove: Proof = (_trx, { password_hash }) => {
    if (password_hash !== member.password_hash) throw invalidCredentials('the password was changed meanwhile')
  }
  return { member, prove }
}

/** The member for whom the link was made. It is used up as the session begins. */
async function byLink({ db, credentials }: SignInDeps, asked: { sign_in_token: string }, guarded: SignIn['guarded']): Promise<Proven> {
  const hash = credentials.hashOf(asked.sign_in_token)
  const isVoid = () => invalidCredentials('the link was used already, or has expired')
  const member = await guarded('link', async (): Promise<MemberRow> => {
    const found = await findLinked(db, hash)
    if (!found) throw isVoid()
    return found
  })
  const prove: Proof = async (trx) => {
    if (!(await takeLink(trx, hash))) throw isVoid()
  }
  return { member, prove }
}

/** Signs in. Needs no token itself. */
export const createSession = {
  contract: createSessionContract,
  async handle({ db, credentials }: SignInDeps, { body, isPlain, guarded, audit }: SignIn): Promise<Reply> {
    const form = typeof body === 'object' && body !== null && 'sign_in_token' in body ? 1 : 0
    const result = validated(createSessionContract.request.body.options[form], body)
    if ('details' in result) throw invalidRequest(result.details)
    const asked = result.value
    const { member, prove } =
      'email' in asked ? await byPassword({ db }, asked, guarded, audit) : await byLink({ db, credentials }, asked, guarded)
    const { token, active } = await openSession({ db, credentials }, member, prove).catch((error: unknown) => {
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
  // The cached session may be two seconds old.
  const known = await findSession(db, session.tokenHash)
  if (!known) throw invalidCredentials('the session has ended')
  const { password_hash: before } = known
  if (before !== null) {
    await guarded(() => assertPassword(before, body.current_password ?? '')).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code !== 'invalid_credentials') throw error
      throw invalidRequest([{ path: '/current_password', message: 'is wrong' }])
    })
  }
  const password_hash = await hashPassword(body.password)
  await inTransaction(db, async (trx) => {
    const member = await lockMember(trx, known.id)
    if (member?.password_hash !== known.password_hash || !(await findSession(trx, session.tokenHash)))
      throw new ServiceError('conflict', 'the password was changed meanwhile')
    await updateMember(trx, known.id, { password_hash })
    await endOtherSessions(trx, known.id, session.tokenHash)
  })
  return { status: 204 }
})
