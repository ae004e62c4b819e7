import { Type, type Static } from 'typebox'

import { OwnerRole, ownerRoles } from '../roles.ts'
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

/** The header that carries the session's token with every request that changes something. */
export const consoleTokenHeader = 'x-purser-console'

/** The header in which a session that sees both environments names the one that it means. */
export const environmentHeader = 'x-purser-environment'

/** How a session began: with a key, at the identity provider, or by the set-up link of a first start. */
export const sessionKinds = ['key', 'oidc', 'set_up'] as const
export type SessionKind = (typeof sessionKinds)[number]
export const SessionKind = OneOf(sessionKinds)

/** One of the two: the text of an owner's or operator's key, or the token of the set-up link. */
export const NewSession = Type.Object({
  api_key: Type.Optional(
    described(
      Nullable(Text(maxLengths.secret)),
      'Text of an API key of the role `owner` or `operator`; null or left out when `set_up_token` is sent.',
    ),
  ),
  set_up_token: Type.Optional(
    described(
      Nullable(Text(maxLengths.secret)),
      'Token of the set-up link of a first start; null or left out when `api_key` is sent.',
    ),
  ),
})

export const Session = Type.Object({
  id: described(Id, 'Id of the session; its token is in the cookie.'),
  kind: described(SessionKind, 'How the session began.'),
  account: Type.Object(
    {
      id: described(Id, 'Id of the account.'),
      name: described(Name, 'Name of the person or the organization that owns the account.'),
      email: Text(maxLengths.email, { description: 'E-mail address of the owner, as it was given.' }),
    },
    { title: 'SessionAccount', description: 'Account that is signed in.' },
  ),
  role: described(OwnerRole, 'What the session may do.'),
  key_id: described(
    Nullable(Id),
    'Key that the session ends with; null for one that began at the identity provider.',
  ),
  environments: Type.Array(Environment, {
    maxItems: environments.length,
    description:
      'Environments that the session sees; `X-Purser-Environment` chooses, the first when it is left out.',
  }),
  csrf_token: Text(maxLengths.secret, {
    description: 'To be sent as `X-Purser-Console` with every request that changes something.',
  }),
  created_at: described(Timestamp, 'When the session began.'),
  expires_at: Type.String({
    format: 'date-time',
    maxLength: maxLengths.timestamp,
    description: 'When the session ends if it is not used; each use moves it, up to `ends_at`.',
  }),
  ends_at: Type.String({
    format: 'date-time',
    maxLength: maxLengths.timestamp,
    description: 'When the session ends however it is used.',
  }),
})
export type Session = Static<typeof Session>

export const SignInOptions = Type.Object({
  version: Text(maxLengths.word, { description: 'Version of the interface, such as `0.1.0`.' }),
  oidc_path: described(
    Nullable(Text(maxLengths.url)),
    'Path at which a browser begins to sign in at the identity provider; null when none is set up.',
  ),
})
export type SignInOptions = Static<typeof SignInOptions>

/** The answer to ending a session. */
export const endedSession = Type.Object(
  { ended: Type.Literal(true, { description: 'Always `true`: the cookie of the session is refused now.' }) },
  { title: 'EndedSession' },
)

export const getSignInOptions = endpoint({
  id: 'getSignInOptions',
  method: 'GET',
  path: '/v1/console/sign-in',
  tag: 'Console',
  summary: 'The ways to sign in to the console.',
  roles: 'public',
  responses: { 200: SignInOptions },
  responseDescriptions: { 200: 'How one can sign in here.' },
  errors: [],
})

export const startSession = endpoint({
  id: 'startSession',
  method: 'POST',
  path: '/v1/console/session',
  tag: 'Console',
  summary: "Exchanges an owner's or operator's key, or a set-up link, for a session cookie.",
  roles: 'public',
  body: NewSession,
  responses: { 201: Session },
  responseDescriptions: { 201: 'Signed in; the cookie of the session is set.' },
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
      'the address has started too many sessions, or tried too many wrong keys; Retry-After says when to go on',
    insufficient_scope: 'the key is neither that of an owner nor that of an operator',
    cross_site_request: 'the request comes from a page of another site',
  },
})

export const getSession = endpoint({
  id: 'getSession',
  method: 'GET',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'The session of the cookie that the request carries.',
  roles: ownerRoles,
  responses: { 200: Session },
  responseDescriptions: { 200: 'The session.' },
  errors: ['no_session'],
})

export const endSession = endpoint({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'Signs out: the session ends in the store, and its cookie is worth nothing from then on.',
  roles: ownerRoles,
  responses: { 200: endedSession },
  responseDescriptions: { 200: 'Signed out; the cookie is deleted.' },
  errors: ['no_session'],
})
