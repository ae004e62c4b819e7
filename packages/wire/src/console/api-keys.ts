import { Type, type Static } from 'typebox'

import { ApiKey } from '../api-keys.ts'
import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Name, Nullable, Timestamp } from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'

export const ListedApiKey = Type.Object({
  ...ApiKey.properties,
  last_used_at: described(
    Nullable(Timestamp),
    'When it was last used, to the minute or so; null when it was not used yet.',
  ),
  agent_name: described(
    Nullable(Name),
    'Name of the agent that the key is bound to; null when it is bound to none.',
  ),
})
export type ListedApiKey = Static<typeof ListedApiKey>

export const listConsoleApiKeys = endpoint({
  id: 'listConsoleApiKeys',
  method: 'GET',
  path: '/v1/console/api-keys',
  tag: 'Console',
  summary: 'The keys of the account, in both environments, with when each was last used.',
  roles: ownerRoles,
  query: Type.Object(pageParameters),
  responses: { 200: PageOf(ListedApiKey) },
  responseDescriptions: { 200: 'A page of keys, newest first, revoked ones among them.' },
  errors: ['query_too_slow'],
})
