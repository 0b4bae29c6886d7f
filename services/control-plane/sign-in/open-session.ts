/** Begins a member's session, however the member has proven who it is. */
import type { Deps } from '../deps.ts'
import { invalidCredentials } from '../access/credentials.ts'
import { assertActive } from '../middleware/authenticate.ts'
import { newSession } from '../access/sessions.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import { findSession, insertSession, lockMember, type ActiveSession, type MemberRow } from '../store/members.ts'

/**
 * The session, and the token for its cookie. `prove` throws where what the member has proven holds no more: a change of a role or a
 * password ends the sessions with the member locked, and none may begin after that by what held before. Throws invalid_credentials for a
 * removed member, forbidden for a suspended account.
 */
export async function openSession(
  { db, credentials }: Pick<Deps, 'db' | 'credentials'>,
  { id }: Pick<MemberRow, 'id'>,
  prove: (trx: Queryable, member: MemberRow) => void | Promise<void> = () => {},
): Promise<{ token: string; active: ActiveSession }> {
  const { token, ...session } = newSession(credentials, Date.now())
  return inTransaction(db, async (trx) => {
    const member = await lockMember(trx, id)
    if (!member) throw invalidCredentials('the member was removed')
    await prove(trx, member)
    await insertSession(trx, { ...session, member_id: id })
    const active = (await findSession(trx, session.token_hash))!
    assertActive(active)
    return { token, active }
  })
}
