import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, OneOf } from './fields.ts'

export const foundKinds = ['agent', 'mandate', 'seller', 'transaction'] as const

export const Found = Type.Object({ kind: OneOf(foundKinds), id: Id, label: Type.String() })
export type Found = Static<typeof Found>

export const searchConsole = endpoint({
  id: 'searchConsole',
  method: 'GET',
  path: '/v1/console/search',
  tag: 'Console',
  summary: 'What has this id, or this text in its name, purpose or domain; of the latest 1,000 of each kind.',
  roles: ownerRoles,
  query: Type.Object({ q: Type.Optional(Type.String({ maxLength: 200 })) }),
  responses: { 200: Type.Array(Found) },
  errors: ['query_too_slow'],
})
