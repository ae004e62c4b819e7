import { Type, type Static } from './schema/type.ts'

import { AnotherAccount } from './api-keys.ts'
import { ownerRoles, ReaderRole, readerRoles } from './roles.ts'
import { endedSession, SessionKind } from './console/session.ts'
import { endpoint } from './endpoint.ts'
import { described, Environment, environments, Id, Nullable, Text, Timestamp } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { PageOf, pageParameters } from './pages.ts'

/** A console session as returned to the account's owner, without its token. */
export const AccountSession = Type.Object({
  id: described(Id, 'Id of the session, not its token.'),
  account_id: described(Id, 'Account that is signed in.'),
  kind: described(SessionKind, 'How the session was started.'),
  role: described(ReaderRole, 'What the session may do.'),
  key_id: described(
    Nullable(Id),
    'Key of the session, which ends when the key is revoked; null for sign-ins with the identity provider.',
  ),
  environments: Type.Array(Environment, {
    maxItems: environments.length,
    description: 'Environments that the session can access.',
  }),
  created_at: described(Timestamp, 'When the session began.'),
  used_at: Text(maxLengths.timestamp, {
    format: 'date-time',
    description: 'When the session was last used, accurate to five minutes.',
  }),
  expires_at: Text(maxLengths.timestamp, {
    format: 'date-time',
    description: 'When the session ends unless it is used again.',
  }),
  is_current: Type.Boolean({ description: 'Whether this request was made with the session.' }),
})
export type AccountSession = Static<typeof AccountSession>

export const listSessions = endpoint({
  id: 'listSessions',
  method: 'GET',
  path: '/accounts/sessions',
  tag: 'Accounts',
  summary: 'Lists who is signed in to the console as the account, newest first.',
  roles: readerRoles,
  query: Type.Object({ ...pageParameters, ...AnotherAccount }),
  responses: { 200: PageOf(AccountSession) },
  responseDescriptions: { 200: 'A page of active sessions.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'the account that an operator specified does not exist' },
})

export const endSessionOfAccount = endpoint({
  id: 'endSessionOfAccount',
  method: 'DELETE',
  path: '/accounts/sessions/{session_id}',
  tag: 'Accounts',
  summary: 'Ends a session of the account: its cookie is refused from then on.',
  roles: ownerRoles,
  params: Type.Object({ session_id: described(Id, 'Id of the session.') }),
  query: Type.Object({ ...AnotherAccount }),
  responses: { 200: endedSession },
  responseDescriptions: { 200: 'The session has ended.' },
  errors: ['not_found'],
  errorDescriptions: {
    not_found: 'no session of the account has that id, or the specified account does not exist',
  },
})
