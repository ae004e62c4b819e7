import { Type, type Static } from 'typebox'

import { AnotherAccount } from './api-keys.ts'
import { OwnerRole, ownerRoles } from './roles.ts'
import { endedSession, SessionKind } from './console/session.ts'
import { endpoint } from './endpoint.ts'
import { described, Environment, environments, Id, Nullable, Text, Timestamp } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { PageOf, pageParameters } from './pages.ts'

/** A session of the console, as the owner of its account sees it: without its token. */
export const AccountSession = Type.Object({
  id: described(Id, 'Id of the session; its token is another thing.'),
  account_id: described(Id, 'Account that is signed in.'),
  kind: described(SessionKind, 'How the session began.'),
  role: described(OwnerRole, 'What the session may do.'),
  key_id: described(
    Nullable(Id),
    'Key that the session ends with; null for one that began at the identity provider.',
  ),
  environments: Type.Array(Environment, {
    maxItems: environments.length,
    description: 'Environments that the session sees.',
  }),
  created_at: described(Timestamp, 'When the session began.'),
  used_at: Text(maxLengths.timestamp, {
    format: 'date-time',
    description: 'When it was last used, to within five minutes.',
  }),
  expires_at: Text(maxLengths.timestamp, {
    format: 'date-time',
    description: 'When it ends unless it is used again.',
  }),
  is_current: Type.Boolean({ description: 'Whether it is the session that this request came with.' }),
})
export type AccountSession = Static<typeof AccountSession>

export const listSessions = endpoint({
  id: 'listSessions',
  method: 'GET',
  path: '/accounts/sessions',
  tag: 'Accounts',
  summary: 'Lists who is signed in to the console as the account, newest first.',
  roles: ownerRoles,
  query: Type.Object({ ...pageParameters, ...AnotherAccount }),
  responses: { 200: PageOf(AccountSession) },
  responseDescriptions: { 200: 'A page of the sessions that are not over.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'the account that an operator names does not exist' },
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
    not_found: 'no session of the account has that id, or no account has the one that is named',
  },
})
