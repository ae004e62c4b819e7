import { Type, type Static } from 'typebox'

import { ApiKey, ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Nullable, Timestamp } from './fields.ts'
import { pageParameters } from './pages.ts'

export const ListedApiKey = Type.Object({
  ...ApiKey.properties,
  last_used_at: Type.Unsafe<string | null>({
    ...Nullable(Timestamp),
    description: 'To the minute or so; null when it was not used yet.',
  }),
  agent_name: Nullable(Type.String()),
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
  responses: { 200: Type.Array(ListedApiKey) },
  errors: ['query_too_slow'],
})
