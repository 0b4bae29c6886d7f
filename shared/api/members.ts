/** Contracts for people: members of an account, who sign in to the console, and their sessions. */
import { z } from 'zod'
import { isStorable } from '../model/text.ts'
import { LIMITS, MEMBER_ROLES } from '../model/limits.ts'
import { AccountType, IdParams, ListQuery, listOf, Name, ScopeName } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const PASSWORD_CHARACTERS = { min: 12, max: 200 }

/** A member's address. Only A to Z are folded: other letters of other people may fold to the same ones. */
export const Email = z
  .string()
  .max(254, 'must have at most 254 characters')
  .refine((text) => /^[^\s@]+@[^\s@]+$/.test(text) && isStorable(text), 'must be an e-mail address')
  .transform((text) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()))
const Password = z
  .string()
  .min(PASSWORD_CHARACTERS.min, `must have at least ${PASSWORD_CHARACTERS.min} characters`)
  .max(PASSWORD_CHARACTERS.max, `must have at most ${PASSWORD_CHARACTERS.max} characters`)
  .refine((text) => text.trim() !== '', 'must not be blank')
const Role = z.enum(MEMBER_ROLES).meta({ id: 'MemberRole' })

const Member = z
  .object({
    id: Id,
    name: z.string(),
    email: z.string(),
    role: Role,
    has_password: z.boolean().describe('Without one only a link signs in, or the OpenID Connect provider'),
    has_provider: z
      .boolean()
      .describe('The OpenID Connect provider signs the member in: the member has signed in with it, by a link or password before'),
    created_at: Timestamp,
  })
  .meta({ id: 'Member' })

const Session = z
  .object({
    account: z.object({ id: Id, name: z.string(), type: AccountType }),
    scopes: z.array(ScopeName),
    member: Member.nullable().describe('Null for a caller with an API key'),
    expires_at: Timestamp.nullable(),
  })
  .meta({ id: 'Session' })

/** A link signs in once: the console takes its token from the address. */
const SignInToken = { sign_in_token: z.string().describe('Signs in once, within seven days'), sign_in_expires_at: Timestamp }

/** `POST /sessions`: returns 201 and sets the session's cookie, for an address and password, or the token of a link. */
export const createSessionContract = contract({
  id: 'createSession',
  method: 'POST',
  path: '/sessions',
  summary: 'Sign in with an address and password, or once with a link’s token; the answer sets the session’s cookie',
  tag: 'Members',
  scope: null,
  isPublic: true,
  bodyBytesMax: LIMITS.credentials_body_bytes_max,
  mayConflict: true,
  request: {
    body: z.union([
      z
        .strictObject({
          email: Email,
          password: z.string().min(1, 'must not be empty').max(PASSWORD_CHARACTERS.max, 'is too long'),
          account_id: z
            .string()
            .refine(isStorable, 'must be an id')
            .optional()
            .describe('Needed where the address and password are those of several accounts; the conflict names them'),
        })
        .meta({ id: 'PasswordSignIn' }),
      z.strictObject({ sign_in_token: z.string().min(1, 'must not be empty').max(100, 'is too long') }).meta({ id: 'LinkSignIn' }),
    ]),
  },
  responses: { 201: Session },
})

/** `GET /sign-in-methods`: returns 200 with how members may sign in here. */
export const getSignInMethodsContract = contract({
  id: 'getSignInMethods',
  method: 'GET',
  path: '/sign-in-methods',
  summary: 'How members may sign in: with passwords and links always, and with an OpenID Connect provider where there is one',
  tag: 'Members',
  scope: null,
  isPublic: true,
  request: {},
  responses: {
    200: z.object({
      provider: z
        .object({ name: z.string() })
        .meta({ id: 'SignInProvider' })
        .nullable()
        .describe('Browsers begin at `/sign-in`, beside the prefix of the API'),
    }),
  },
})

/** `GET /session`: returns 200 with who the caller is: a member, or an API key. */
export const getSessionContract = contract({
  id: 'getSession',
  method: 'GET',
  path: '/session',
  summary: 'Who the caller is, and what it may do',
  tag: 'Members',
  scope: null,
  request: {},
  responses: { 200: Session },
})

/** `DELETE /session`: returns 204 once the session has ended. */
export const deleteSessionContract = contract({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/session',
  summary: 'Sign out',
  tag: 'Members',
  scope: null,
  mayConflict: true,
  request: {},
  responses: { 204: null },
})

/** `POST /session/password`: returns 204 once the member has the new password; all other sessions and links have ended. */
export const changePasswordContract = contract({
  id: 'changePassword',
  method: 'POST',
  path: '/session/password',
  summary: 'Set one’s own password; ends one’s other sessions',
  tag: 'Members',
  scope: null,
  mayConflict: true,
  request: { body: z.strictObject({ password: Password, current_password: z.string().optional().describe('Needed where there is one') }) },
  responses: { 204: null },
})

/** `GET /members`: returns 200 with a page of the account's members. */
export const listMembersContract = contract({
  id: 'listMembers',
  method: 'GET',
  path: '/members',
  summary: 'List members',
  tag: 'Members',
  scope: 'keys:read',
  request: { query: ListQuery.omit({ status: true }) },
  responses: { 200: listOf('members', Member) },
})

/** `POST /members`: returns 201 with the member and an invitation. */
export const createMemberContract = contract({
  id: 'createMember',
  method: 'POST',
  path: '/members',
  summary: 'Invite a member; the invitation’s token is shown only in this response',
  tag: 'Members',
  scope: 'keys:write',
  isIdempotent: true,
  locatedBy: 201,
  secretMembers: ['sign_in_token'],
  request: { body: z.strictObject({ name: Name, email: Email, role: Role }) },
  responses: { 201: Member.extend(SignInToken) },
})

/** `GET /members/:id`: returns 200 with the member. */
export const getMemberContract = contract({
  id: 'getMember',
  method: 'GET',
  path: '/members/:id',
  summary: 'Get a member',
  tag: 'Members',
  scope: 'keys:read',
  request: { params: IdParams },
  responses: { 200: Member },
})

/** `PATCH /members/:id`: returns 200 with the changed member. */
export const updateMemberContract = contract({
  id: 'updateMember',
  method: 'PATCH',
  path: '/members/:id',
  summary: 'Change a member’s name or role',
  tag: 'Members',
  scope: 'keys:write',
  mayConflict: true,
  request: { params: IdParams, body: z.strictObject({ name: Name.optional(), role: Role.optional() }) },
  responses: { 200: Member },
})

/** `DELETE /members/:id`: returns 204 once the member and all its sessions are gone. */
export const deleteMemberContract = contract({
  id: 'deleteMember',
  method: 'DELETE',
  path: '/members/:id',
  summary: 'Remove a member and end its sessions',
  tag: 'Members',
  scope: 'keys:write',
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null },
})

/** `POST /members/:id/link`: returns 201 with a link's token. */
export const createMemberLinkContract = contract({
  id: 'createMemberLink',
  method: 'POST',
  path: '/members/:id/link',
  summary: 'Make a link that signs the member in once, for an invitation that was lost or a forgotten password',
  tag: 'Members',
  scope: 'keys:write',
  secretMembers: ['sign_in_token'],
  request: { params: IdParams },
  responses: { 201: z.object(SignInToken) },
})
