/** Begins a member's session, however the member has proven who it is. */
import type { Deps } from '../deps.ts'
import { invalidCredentials } from '../credentials.ts'
import { assertActive } from '../middleware/authenticate.ts'
import { newSession } from '../sessions.ts'
import { deleteSession, findSession, insertSession, type ActiveSession, type MemberRow } from '../store/members.ts'

/** The session, and the token for its cookie. Throws invalid_credentials for a removed member, forbidden for a suspended account. */
export async function openSession(
  { db, credentials }: Pick<Deps, 'db' | 'credentials'>,
  member: Pick<MemberRow, 'id'>,
): Promise<{ token: string; active: ActiveSession }> {
  const { token, ...session } = newSession(credentials, Date.now())
  await insertSession(db, { ...session, member_id: member.id })
  const active = await findSession(db, session.token_hash)
  if (!active) throw invalidCredentials('the member was removed')
  try {
    assertActive(active)
  } catch (error) {
    await deleteSession(db, session.token_hash)
    throw error
  }
  return { token, active }
}
