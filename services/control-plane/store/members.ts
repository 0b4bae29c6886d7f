/** Members of accounts, their sessions, and links that sign in once. Tokens are stored as keyed hashes only. */
import type { AccountType, MemberRole } from '../../../shared/model/limits.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `members`. */
export type MemberRow = {
  id: string
  account_id: string
  name: string
  /** In lower case; once in each account. */
  email: string
  role: MemberRole
  /** Null until a password is set. */
  password_hash: string | null
  /** Null until someone who was signed in as the member has proven the address to the OpenID Connect provider. */
  provider_confirmed_at: Date | null
  created_at: Date
  updated_at: Date
}

/** A session that has not expired, with its member and account. */
export type ActiveSession = MemberRow & {
  expires_at: Date
  account_name: string
  account_type: AccountType
  suspended_for: string | null
}

/** The stored member. Throws a unique violation when the account has a member with the address. */
export async function insertMember(db: Queryable, member: Pick<MemberRow, 'id' | 'account_id' | 'name' | 'email' | 'role'>) {
  const [row] = await db('members').insert(member).returning('*')
  return row as MemberRow
}

/** A page of the account's members. */
export async function listMembers(db: Queryable, accountId: string, page: PageRequest): Promise<Page<MemberRow>> {
  return findPage(db('members').where({ account_id: accountId }).select('*'), page)
}

/** The member; undefined if the account has none with this id. */
export async function findMember(db: Queryable, accountId: string, id: string): Promise<MemberRow | undefined> {
  return db('members').where({ account_id: accountId, id }).first()
}

/** The member, locked until the transaction ends. */
export async function lockMember(trx: Queryable, id: string): Promise<MemberRow | undefined> {
  return trx('members').where({ id }).forUpdate().first()
}

/** The account's member with this address. */
export async function findMemberByEmail(db: Queryable, accountId: string, email: string): Promise<MemberRow | undefined> {
  return db('members').where({ account_id: accountId, email }).first()
}

/** A member with the name of its account. */
export type NamedMember = MemberRow & { account_name: string }

/** What must have been proven of a member: a password may be, or the address was to the provider. */
type Means = 'password_hash' | 'provider_confirmed_at'

/**
 * The members with this address, of all accounts or of one, that may sign in by these means. Anyone may have added the address to an
 * account: memberships that were never used count for nothing.
 */
export async function findSigningIn(db: Queryable, means: Means, email: string, accountId?: string): Promise<NamedMember[]> {
  return db('members')
    .join('accounts', 'accounts.id', 'members.account_id')
    .where({ 'members.email': email, ...(accountId === undefined ? {} : { 'members.account_id': accountId }) })
    .whereNotNull(`members.${means}`)
    .orderBy(['accounts.name', 'members.id'])
    .select('members.*', 'accounts.name as account_name')
}

/** From now on the provider signs the member in. */
export async function confirmByProvider(db: Queryable, id: string): Promise<void> {
  await db('members').where({ id }).whereNull('provider_confirmed_at').update({ provider_confirmed_at: db.fn.now() })
}

/** How many owners the account has. */
export async function countOwners(db: Queryable, accountId: string): Promise<number> {
  const [row] = await db('members').where({ account_id: accountId, role: 'owner' }).count<{ count: string }[]>('* as count')
  return Number(row?.count ?? 0)
}

/** The changed member. */
export async function updateMember(db: Queryable, id: string, changes: Partial<Pick<MemberRow, 'name' | 'role' | 'password_hash'>>) {
  const [row] = await db('members')
    .where({ id })
    .update({ ...changes, updated_at: db.fn.now() })
    .returning('*')
  return row as MemberRow
}

/** Deletes the member with all sessions and links. */
export async function deleteMember(db: Queryable, id: string): Promise<void> {
  await db('members').where({ id }).delete()
}

/** How many links of one member may be valid at once. */
const LINKS_MAX = 5

/** Stores a link that signs the member in once; expired ones go, and the member's oldest ones where there are too many. */
export async function insertLink(db: Queryable, link: { token_hash: Buffer; member_id: string; expires_at: Date }): Promise<void> {
  const { member_id } = link
  await db('sign_in_links').where('expires_at', '<', db.fn.now()).delete()
  await db('sign_in_links').insert(link)
  const newest = db('sign_in_links').where({ member_id }).orderBy('expires_at', 'desc').limit(LINKS_MAX).select('token_hash')
  await db('sign_in_links').where({ member_id }).whereNotIn('token_hash', newest).delete()
}

const validLink = (db: Queryable, tokenHash: Buffer) =>
  db('sign_in_links').where({ token_hash: tokenHash }).where('expires_at', '>', db.fn.now())

/** Whom the link signs in; undefined where there is none, or it has expired. */
export async function findLinked(db: Queryable, tokenHash: Buffer): Promise<MemberRow | undefined> {
  return db('members').whereIn('id', validLink(db, tokenHash).select('member_id')).first()
}

/** Uses the link up; false where there is none any more. */
export async function takeLink(db: Queryable, tokenHash: Buffer): Promise<boolean> {
  return (await validLink(db, tokenHash).delete()) > 0
}

/** Stores a session; expired ones go. */
export async function insertSession(db: Queryable, session: { token_hash: Buffer; member_id: string; expires_at: Date }): Promise<void> {
  await db('sessions').where('expires_at', '<', db.fn.now()).delete()
  await db('sessions').insert(session)
}

/** The session with its member and account; undefined if there is none, or it has expired. */
export async function findSession(db: Queryable, tokenHash: Buffer): Promise<ActiveSession | undefined> {
  return db('sessions')
    .join('members', 'members.id', 'sessions.member_id')
    .join('accounts', 'accounts.id', 'members.account_id')
    .where('sessions.token_hash', tokenHash)
    .where('sessions.expires_at', '>', db.fn.now())
    .first('members.*', 'sessions.expires_at', 'accounts.name as account_name', 'accounts.type as account_type', 'accounts.suspended_for')
}

/** Ends a session. */
export async function deleteSession(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db('sessions').where({ token_hash: tokenHash }).delete()
}

/** Ends all sessions of the member but one, and makes the member's links void. */
export async function endOtherSessions(db: Queryable, memberId: string, keep: Buffer | undefined): Promise<void> {
  await db('sign_in_links').where({ member_id: memberId }).delete()
  const all = db('sessions').where({ member_id: memberId })
  await (keep ? all.whereNot({ token_hash: keep }) : all).delete()
}
