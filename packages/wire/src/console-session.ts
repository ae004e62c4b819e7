import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { environments, Id, Nullable, OneOf, Timestamp } from './fields.ts'

/** The header that carries the session's token with every request that changes something. */
export const consoleTokenHeader = 'x-purser-console'

/** The header in which a session that sees both environments names the one that it means. */
export const environmentHeader = 'x-purser-environment'

/** How a session began: with a key, at the identity provider, or by the set-up link of a first start. */
export const sessionKinds = ['key', 'oidc', 'set_up'] as const
export type SessionKind = (typeof sessionKinds)[number]

/** One of the two: the text of an owner's or operator's key, or the token of the set-up link. */
export const NewSession = Type.Object({
  api_key: Type.Optional(Nullable(Type.String({ maxLength: 400 }))),
  set_up_token: Type.Optional(Nullable(Type.String({ maxLength: 400 }))),
})

export const Session = Type.Object({
  id: Id,
  kind: OneOf(sessionKinds),
  account: Type.Object({ id: Id, name: Type.String(), email: Type.String() }),
  role: OneOf(ownerRoles),
  /** The key that the session ends with; null for one that began at the identity provider. */
  key_id: Nullable(Id),
  environments: Type.Array(OneOf(environments), {
    description: 'What the session may see; `X-Purser-Environment` chooses, the first when it is left out.',
  }),
  csrf_token: Type.String({
    description: 'To be sent as `X-Purser-Console` with every request that changes something.',
  }),
  created_at: Timestamp,
  expires_at: Type.String({
    format: 'date-time',
    description: 'When the session ends if it is not used; each use moves it, up to `ends_at`.',
  }),
  ends_at: Type.String({ format: 'date-time', description: 'When the session ends however it is used.' }),
})
export type Session = Static<typeof Session>

export const SignInOptions = Type.Object({
  version: Type.String(),
  /** Where a browser begins to sign in at the identity provider; null when none is set up. */
  oidc_path: Nullable(Type.String()),
})
export type SignInOptions = Static<typeof SignInOptions>

export const getSignInOptions = endpoint({
  id: 'getSignInOptions',
  method: 'GET',
  path: '/v1/console/sign-in',
  tag: 'Console',
  summary: 'The ways to sign in to the console.',
  roles: 'public',
  responses: { 200: SignInOptions },
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
  errors: [
    'invalid_api_key',
    'insufficient_scope',
    'set_up_link_spent',
    'cross_site_request',
    'store_unavailable',
  ],
})

export const getSession = endpoint({
  id: 'getSession',
  method: 'GET',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'The session of the cookie that the request carries.',
  roles: ownerRoles,
  responses: { 200: Session },
  errors: ['no_session'],
})

export const endSession = endpoint({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/console/session',
  tag: 'Console',
  summary: 'Signs out: the session ends in the store, and its cookie is worth nothing from then on.',
  roles: ownerRoles,
  responses: { 200: Type.Object({ ended: Type.Literal(true) }) },
  errors: ['no_session'],
})
