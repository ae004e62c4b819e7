import { Type, type Static } from 'typebox'

import { endpoint } from './endpoint.ts'
import { described, Environment, Id, Nullable, Text, Timestamp } from './fields.ts'
import { maxLengths } from './lengths.ts'
import { PageOf, pageParameters } from './pages.ts'
import { ownerRoles, Role } from './roles.ts'

/** How the text of a key begins, by environment (Authentication, rule 2). */
export const keyPrefixes = { sandbox: 'svc_sand_', production: 'svc_prod_' } as const

export const ApiKey = Type.Object({
  id: described(Id, 'Id of the key; the text of the key is another thing.'),
  account_id: described(Id, 'Account that the key belongs to.'),
  label: described(
    Nullable(Text(maxLengths.label)),
    'What the key is for, as its issuer wrote it; null when nothing was written.',
  ),
  role: described(Role, 'What the key may do.'),
  environment: described(Environment, 'Environment that the key works in.'),
  agent_id: described(
    Nullable(Id),
    'Agent that a key of the role `agent` is bound to; null for every other role.',
  ),
  hint: Text(maxLengths.word, { description: 'The last four characters of the key.' }),
  created_at: described(Timestamp, 'When the key was issued.'),
  revoked_at: described(Nullable(Timestamp), 'When it was revoked; null while it works.'),
})
export type ApiKey = Static<typeof ApiKey>

/** A key with its text, which is shown this once. */
export const IssuedApiKey = Type.Object({
  ...ApiKey.properties,
  key: Text(maxLengths.secret, { description: 'The text of the key. It is shown this once.' }),
})
export type IssuedApiKey = Static<typeof IssuedApiKey>

export const NewApiKey = Type.Object({
  label: Type.Optional(
    described(Nullable(Text(maxLengths.label)), 'What the key is for; null or left out for nothing.'),
  ),
  role: described(Role, 'What the key may do. Only operators issue keys of the role `operator`.'),
  environment: described(Environment, 'Environment that the key will work in.'),
  agent_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      'Agent that the key is bound to: required for the role `agent`, null or left out for others.',
    ),
  ),
  account_id: Type.Optional(
    described(
      Nullable(Text(maxLengths.id)),
      "Account that the key is for; null or left out for the caller's own. Another one: operators only.",
    ),
  ),
})

/** The query parameter by which an operator names an account that is not the key's own. */
export const AnotherAccount = {
  account_id: Type.Optional(
    Text(maxLengths.id, {
      description: "Account that is meant; the key's own when left out. Another one: operators only.",
    }),
  ),
}

export const createApiKey = endpoint({
  id: 'createApiKey',
  method: 'POST',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Issues an API key; its text is shown once.',
  roles: ownerRoles,
  body: NewApiKey,
  responses: { 201: IssuedApiKey },
  responseDescriptions: { 201: 'The key was issued; its text is shown this once.' },
  errors: ['not_found', 'agent_revoked'],
  errorDescriptions: {
    not_found: 'the account that is named, or the agent in that account and environment, does not exist',
    agent_revoked: 'the agent that the key would be for is revoked',
  },
})

export const listApiKeys = endpoint({
  id: 'listApiKeys',
  method: 'GET',
  path: '/accounts/api-keys',
  tag: 'Accounts',
  summary: 'Lists the API keys of the account, in both environments, without their text.',
  roles: ownerRoles,
  query: Type.Object({ ...pageParameters, ...AnotherAccount }),
  responses: { 200: PageOf(ApiKey) },
  responseDescriptions: { 200: 'A page of keys, newest first, revoked ones among them.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'the account that an operator names does not exist' },
})

export const revokeApiKey = endpoint({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/accounts/api-keys/{key_id}',
  tag: 'Accounts',
  summary: 'Revokes an API key permanently.',
  roles: ownerRoles,
  params: Type.Object({ key_id: described(Id, 'Id of the key, not its text.') }),
  query: Type.Object({ ...AnotherAccount }),
  responses: { 200: ApiKey },
  responseDescriptions: { 200: 'The key, which is revoked now or was before.' },
  errors: ['not_found', 'last_owner_key'],
})
