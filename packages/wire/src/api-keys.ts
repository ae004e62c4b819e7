import { Type, type Static } from './schema/type.ts'

import { endpoint } from './endpoint.ts'
import { described, Environment, Id, Nullable, Text, Timestamp } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { PageOf, pageParameters } from './pages.ts'
import { ownerRoles, readerRoles, Role } from './roles.ts'

/** The prefix of a key's secret, by environment (Authentication, rule 2). */
export const keyPrefixes = { sandbox: 'svc_sand_', production: 'svc_prod_' } as const

export const ApiKey = Type.Object({
  id: described(Id, 'Id of the key, not its secret text.'),
  account_id: described(Id, 'Account that the key belongs to.'),
  label: described(Nullable(Text(maxLengths.label)), 'Label of the key; null if none was provided.'),
  role: described(Role, 'What the key may do.'),
  environment: described(Environment, 'Environment that the key works in.'),
  agent_id: described(
    Nullable(Id),
    'Agent that a key with the role `agent` is bound to; null for other roles.',
  ),
  hint: Text(maxLengths.word, { description: 'The last four characters of the key.' }),
  created_at: described(Timestamp, 'When the key was issued.'),
  revoked_at: described(Nullable(Timestamp), 'When the key was revoked; null while it works.'),
})
export type ApiKey = Static<typeof ApiKey>

/** A key with its secret text, which is shown only once. */
export const IssuedApiKey = Type.Object({
  ...ApiKey.properties,
  key: Text(maxLengths.secret, { description: 'The secret text of the key. It is shown only once.' }),
})
export type IssuedApiKey = Static<typeof IssuedApiKey>

export const NewApiKey = Type.Object({
  label: Type.Optional(
    described(Nullable(Text(maxLengths.label)), 'Label of the key; null or omitted for none.'),
  ),
  role: described(Role, 'What the key may do. Only operators can issue keys with the role `operator`.'),
  environment: described(Environment, 'Environment that the key will work in.'),
  agent_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      'Agent that the key is bound to: required for the role `agent`, null or omitted for others.',
    ),
  ),
  account_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      "Account of the key; null or omitted for the caller's own. Only operators may specify another one.",
    ),
  ),
})

/** The query parameter with which an operator selects another account. */
export const AnotherAccount = {
  account_id: Type.Optional(
    Text(maxLengths.id, {
      description: "Account to use; by default the key's own. Only operators may specify another one.",
    }),
  ),
}

export const createApiKey = endpoint({
  id: 'createApiKey',
  method: 'POST',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Issues an API key; its secret text is shown once.',
  roles: ownerRoles,
  body: NewApiKey,
  responses: { 201: IssuedApiKey },
  responseDescriptions: { 201: 'The key was issued; its secret text is shown only once.' },
  errors: ['not_found', 'agent_revoked'],
  errorDescriptions: {
    not_found: 'the specified account, or the agent in that account and environment, does not exist',
    agent_revoked: 'the agent of the key is revoked',
  },
})

export const listApiKeys = endpoint({
  id: 'listApiKeys',
  method: 'GET',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Lists the API keys of the account, in both environments, without their secret text.',
  roles: readerRoles,
  query: Type.Object({ ...pageParameters, ...AnotherAccount }),
  responses: { 200: PageOf(ApiKey) },
  responseDescriptions: { 200: 'A page of keys, newest first, including revoked ones.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'the account that an operator specified does not exist' },
})

export const revokeApiKey = endpoint({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/accounts/api-keys/{key_id}',
  tag: 'Accounts',
  summary: 'Revokes an API key permanently.',
  roles: ownerRoles,
  params: Type.Object({ key_id: described(Id, 'Id of the key, not its secret text.') }),
  query: Type.Object({ ...AnotherAccount }),
  responses: { 200: ApiKey },
  responseDescriptions: { 200: 'The key is revoked, by this request or an earlier one.' },
  errors: ['not_found', 'last_owner_key'],
})
