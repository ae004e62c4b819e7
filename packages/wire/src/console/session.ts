import { Type, type Static } from '../schema/type.ts'

import { ReaderRole, readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import {
  described,
  Environment,
  environments,
  Id,
  Name,
  Nullable,
  OneOf,
  Text,
  Timestamp,
} from '../fields.ts'
import { maxLengths } from '../lengths.ts'

/** The header with the session's CSRF token, required for every request that changes something. */
export const consoleTokenHeader = 'x-purser-console'

/** The header that selects the environment for a session with access to both. */
export const environmentHeader = 'x-purser-environment'

/** How a session was started: with a key, the identity provider, or the set-up link of a first start. */
export const sessionKinds = ['key', 'oidc', 'set_up'] as const
export type SessionKind = (typeof sessionKinds)[number]
export const SessionKind = OneOf(sessionKinds)

/** Exactly one of the key of an owner, operator or approver and the token of the set-up link. */
export const NewSession = Type.Object({
  api_key: Type.Optional(
    described(
      Nullable(Text(maxLengths.secret)),
      'An API key with the role `owner`, `operator` or `approver`; null or omitted if `set_up_token` is sent.',
    ),
  ),
  set_up_token: Type.Optional(
    described(
      Nullable(Text(maxLengths.secret)),
      'Token of the set-up link of a first start; null or omitted if `api_key` is sent.',
    ),
  ),
})

export const Session = Type.Object({
  id: described(Id, 'Id of the session; its token is in the cookie.'),
  kind: described(SessionKind, 'How the session was started.'),
  account: Type.Object(
    {
      id: described(Id, 'Id of the account.'),
      name: described(Name, 'Name of the person or organization that owns the account.'),
      email: Text(maxLengths.email, { description: 'E-mail address of the owner, as provided.' }),
    },
    { title: 'SessionAccount', description: 'The signed-in account.' },
  ),
  role: described(ReaderRole, 'What the session may do.'),
  key_id: described(
    Nullable(Id),
    'Key of the session, which ends when the key is revoked; null for sign-ins with the identity provider.',
  ),
  environments: Type.Array(Environment, {
    maxItems: environments.length,
    description:
      'Environments that the session can access; `X-Purser-Environment` selects one, by default the first.',
  }),
  csrf_token: Text(maxLengths.secret, {
    description: 'Send this as `X-Purser-Console` with every request that changes something.',
  }),
  created_at: described(Timestamp, 'When the session was started.'),
  expires_at: Type.String({
    format: 'date-time',
    maxLength: maxLengths.timestamp,
    description: 'When the session ends if it is not used; each use extends it, up to `ends_at`.',
  }),
  ends_at: Type.String({
    format: 'date-time',
    maxLength: maxLengths.timestamp,
    description: 'When the session ends in any case.',
  }),
})
export type Session = Static<typeof Session>

export const SignInOptions = Type.Object({
  version: Text(maxLengths.word, { description: 'Version of the interface, such as `0.1.0`.' }),
  oidc_path: described(
    Nullable(Text(maxLengths.url)),
    'Path where a browser starts signing in with the identity provider; null if none is configured.',
  ),
})
export type SignInOptions = Static<typeof SignInOptions>

/** The response to ending a session. */
export const endedSession = Type.Object(
  { ended: Type.Literal(true, { description: 'Always `true`: the session cookie is no longer accepted.' }) },
  { title: 'EndedSession' },
)

export const getSignInOptions = endpoint({
  id: 'getSignInOptions',
  method: 'GET',
  path: '/v1/console/sign-in',
  tag: 'Console',
  summary: 'Returns the ways to sign in to the console.',
  roles: 'public',
  responses: { 200: SignInOptions },
  responseDescriptions: { 200: 'The available ways to sign in.' },
  errors: [],
})

export const startSession = endpoint({
  id: 'startSession',
  method: 'POST',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'Exchanges the key of an owner, operator or approver, or a set-up link, for a session cookie.',
  roles: 'public',
  body: NewSession,
  responses: { 201: Session },
  responseDescriptions: { 201: 'Signed in; the session cookie is set.' },
  errors: [
    'rate_limited',
    'invalid_api_key',
    'insufficient_scope',
    'set_up_link_spent',
    'cross_site_request',
    'store_unavailable',
  ],
  errorDescriptions: {
    rate_limited:
      'the address has started too many sessions, or tried too many wrong keys; Retry-After says when to retry',
    insufficient_scope: "the key is an agent's or a merchant's",
    cross_site_request: 'the request comes from a page of another site',
  },
})

export const getSession = endpoint({
  id: 'getSession',
  method: 'GET',
  path: '/v1/console/session',
  tag: 'Console',
  summary: "Returns the session of the request's cookie.",
  roles: readerRoles,
  responses: { 200: Session },
  responseDescriptions: { 200: 'The session.' },
  errors: ['no_session'],
})

export const endSession = endpoint({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'Signs out: ends the session, whose cookie is no longer accepted.',
  roles: readerRoles,
  responses: { 200: endedSession },
  responseDescriptions: { 200: 'Signed out; the cookie is deleted.' },
  errors: ['no_session'],
})
