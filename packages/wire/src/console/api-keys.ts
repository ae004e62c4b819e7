import { Type, type Static } from '../schema/type.ts'

import { ApiKey } from '../api-keys.ts'
import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Name, Nullable, Timestamp } from '../fields.ts'
import { PageOf, pageParameters } from '../pages.ts'

export const ListedApiKey = Type.Object({
  ...ApiKey.properties,
  last_used_at: described(
    Nullable(Timestamp),
    'When the key was last used, accurate to about a minute; null if never.',
  ),
  agent_name: described(Nullable(Name), 'Name of the agent that the key is bound to; null if none.'),
})
export type ListedApiKey = Static<typeof ListedApiKey>

export const listConsoleApiKeys = endpoint({
  id: 'listConsoleApiKeys',
  method: 'GET',
  path: '/v1/console/api-keys',
  tag: 'Console',
  summary: 'Lists the keys of the account, in both environments, with their last use.',
  roles: readerRoles,
  query: Type.Object(pageParameters),
  responses: { 200: PageOf(ListedApiKey) },
  responseDescriptions: { 200: 'A page of keys, newest first, including revoked ones.' },
  errors: ['query_too_slow'],
})
