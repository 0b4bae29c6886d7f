/**
 * Which member a person is who has proven an address to the provider. Anyone may have added that address to their own account, and an
 * invitation's link is known to its maker: only both proofs together, in one browser, make an account the person's own.
 */
import type { Queryable } from '../store/database.ts'
import { confirmByProvider, findSession, findSigningIn, type MemberRow, type NamedMember } from '../store/members.ts'

/** What the browser went to the provider with. */
export type Wanted = { sessionHash: Buffer | undefined; accountId: string | undefined }

/** The members that the person has confirmed: none, one, or several to choose from. */
export async function provenMembers(
  db: Queryable,
  email: string,
  { sessionHash, accountId }: Wanted,
): Promise<(Pick<MemberRow, 'id' | 'account_id'> & Pick<NamedMember, 'account_name'>)[]> {
  const session = sessionHash && (await findSession(db, sessionHash))
  if (session?.email === email && (accountId ?? session.account_id) === session.account_id) {
    await confirmByProvider(db, session.id)
    return [session]
  }
  return findSigningIn(db, 'provider_confirmed_at', email, accountId)
}
