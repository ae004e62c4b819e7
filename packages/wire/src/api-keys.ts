import { Type, type Static } from 'typebox'

import { endpoint } from './endpoint.ts'
import { environments, Id, Nullable, OneOf, Timestamp } from './fields.ts'
import { PageQuery } from './pages.ts'

/** What a key may do; each role is described in docs/decisions. */
export const roles = ['operator', 'owner', 'agent', 'merchant'] as const
export type Role = (typeof roles)[number]

/** The roles that reach everything within their account. */
export const ownerRoles = ['operator', 'owner'] as const satisfies readonly Role[]

/** How the text of a key begins, by environment (Authentication, rule 2). */
export const keyPrefixes = { sandbox: 'svc_sand_', production: 'svc_prod_' } as const

export const ApiKey = Type.Object({
  id: Id,
  account_id: Id,
  label: Nullable(Type.String()),
  role: OneOf(roles),
  environment: OneOf(environments),
  agent_id: Nullable(Id),
  hint: Type.String({ description: 'The last four characters of the key.' }),
  created_at: Timestamp,
  revoked_at: Nullable(Timestamp),
})
export type ApiKey = Static<typeof ApiKey>

/** A key with its text, which is shown this once. */
export const IssuedApiKey = Type.Object({
  ...ApiKey.properties,
  key: Type.String({ description: 'The text of the key. It is shown this once.' }),
})
export type IssuedApiKey = Static<typeof IssuedApiKey>

export const NewApiKey = Type.Object({
  label: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  role: OneOf(roles),
  environment: OneOf(environments),
  agent_id: Type.Optional(Nullable(Type.String({ description: 'Required for the role `agent`.' }))),
  account_id: Type.Optional(Nullable(Type.String({ description: 'Another account: operators only.' }))),
})

export const createApiKey = endpoint({
  id: 'createApiKey',
  method: 'POST',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Issues an API key; its text is shown once.',
  roles: ownerRoles,
  body: NewApiKey,
  responses: { 201: IssuedApiKey },
  errors: ['not_found', 'agent_revoked'],
})

export const listApiKeys = endpoint({
  id: 'listApiKeys',
  method: 'GET',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Lists the API keys of the account, in both environments, without their text.',
  roles: ownerRoles,
  query: PageQuery,
  responses: { 200: Type.Array(ApiKey) },
  errors: [],
})

export const revokeApiKey = endpoint({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/accounts/api-keys/{key_id}',
  tag: 'Accounts',
  summary: 'Revokes an API key, for good.',
  roles: ownerRoles,
  params: Type.Object({ key_id: Type.String() }),
  responses: { 200: ApiKey },
  errors: ['not_found', 'last_owner_key'],
})
