/** Members of the caller's account: who may sign in to the console, and as what. */
import {
  createMemberContract,
  createMemberLinkContract,
  deleteMemberContract,
  getMemberContract,
  listMembersContract,
  updateMemberContract,
} from '../../../../shared/api/members.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { ROLE_SCOPES, type MemberRole } from '../../../../shared/model/limits.ts'
import type { Caller } from '../../deps.ts'
import { notFound, ServiceError } from '../../service-error.ts'
import { newLink, showMember } from '../../access/sessions.ts'
import { lockAccount } from '../../store/accounts.ts'
import { inTransaction, isUniqueViolation, type Queryable } from '../../store/database.ts'
import { assertQuotas } from '../../store/quotas.ts'
import {
  countOwners,
  deleteMember,
  endOtherSessions,
  findMember,
  insertLink,
  insertMember,
  listMembers,
  lockMember,
  updateMember,
  type MemberRow,
} from '../../store/members.ts'
import { listReply } from '../list-reply.ts'
import { operation } from '../operation.ts'

/** Throws 403 for a role that may do more than the caller: what one can't do oneself, one can't let others do. */
function assertMayGrant({ scopes }: Caller, role: MemberRole): void {
  const beyond = ROLE_SCOPES[role].filter((scope) => !scopes.includes(scope))
  if (beyond.length > 0) throw new ServiceError('forbidden', `the caller lacks scopes of the role ${role}: ${beyond.join(', ')}`)
}

/** The member. Throws 404 where the account has none with this id. */
async function getMember(db: Queryable, { accountId }: Caller, id: string): Promise<MemberRow> {
  const row = await findMember(db, accountId, id)
  if (!row) throw notFound('the member')
  return row
}

/** The member. Throws 403 where the member may do more than the caller. */
async function getGrantable(db: Queryable, caller: Caller, id: string): Promise<MemberRow> {
  const row = await getMember(db, caller, id)
  assertMayGrant(caller, row.role)
  return row
}

/** Two requests could otherwise take away the last two owners. Call it with the account locked. */
async function assertOwnerLeft(trx: Queryable, { account_id, role }: MemberRow): Promise<void> {
  if (role === 'owner' && (await countOwners(trx, account_id)) === 1)
    throw new ServiceError('conflict', 'the member is the account’s last owner: make another one first')
}

export const listMembersOperation = operation(listMembersContract, async ({ db }, caller, { query }) =>
  listReply('members', await listMembers(db, caller.accountId, query), query, showMember),
)

export const getMemberOperation = operation(getMemberContract, async ({ db }, caller, { params }) => ({
  status: 200,
  body: showMember(await getMember(db, caller, params.id)),
}))

export const createMemberOperation = operation(createMemberContract, async ({ db, credentials }, caller, { body }) => {
  assertMayGrant(caller, body.role)
  const { token, ...link } = newLink(credentials, Date.now())
  try {
    const row = await inTransaction(db, async (trx) => {
      await assertQuotas(trx, caller.accountId, { members: 1 })
      const member = await insertMember(trx, { id: newId('member'), account_id: caller.accountId, ...body })
      await insertLink(trx, { ...link, member_id: member.id })
      return member
    })
    return {
      status: 201,
      body: { ...showMember(row), sign_in_token: token, sign_in_expires_at: link.expires_at },
      headers: { Location: `/members/${row.id}` },
    }
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ServiceError('conflict', 'the address belongs to a member of the account already', {
      details: [{ path: '/email', message: 'is taken' }],
    })
  }
})

export const updateMemberOperation = operation(updateMemberContract, async ({ db }, caller, { params, body }) => {
  const row = await inTransaction(db, async (trx) => {
    await lockAccount(trx, caller.accountId)
    const member = await getGrantable(trx, caller, params.id)
    if (body.role !== undefined && body.role !== member.role) {
      assertMayGrant(caller, body.role)
      await assertOwnerLeft(trx, member)
      // No session may begin meanwhile by a link of before.
      await lockMember(trx, member.id)
      // A link that was made for the lesser role must not sign in with the greater one.
      await endOtherSessions(trx, member.id, caller.session?.id === member.id ? caller.session.tokenHash : undefined)
    }
    return updateMember(trx, member.id, body)
  })
  return { status: 200, body: showMember(row) }
})

export const deleteMemberOperation = operation(deleteMemberContract, async ({ db }, caller, { params }) => {
  await inTransaction(db, async (trx) => {
    await lockAccount(trx, caller.accountId)
    const member = await getGrantable(trx, caller, params.id)
    await assertOwnerLeft(trx, member)
    await deleteMember(trx, member.id)
  })
  return { status: 204 }
})

export const createMemberLinkOperation = operation(createMemberLinkContract, async ({ db, credentials }, caller, { params }) => {
  const { token, ...link } = newLink(credentials, Date.now())
  await inTransaction(db, async (trx) => {
    // Two requests could otherwise make the link for the role that the member had, and leave it valid for a greater one.
    await lockAccount(trx, caller.accountId)
    const member = await getGrantable(trx, caller, params.id)
    await insertLink(trx, { ...link, member_id: member.id })
  })
  return { status: 201, body: { sign_in_token: token, sign_in_expires_at: link.expires_at } }
})
