import { Type, type Static } from '../schema/type.ts'

import { readerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, OneOf, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'
import { PageOf } from '../pages.ts'

export const foundKinds = ['agent', 'mandate', 'seller', 'transaction'] as const
export const FoundKind = OneOf(foundKinds)

export const Found = Type.Object({
  kind: described(FoundKind, 'Kind of the record.'),
  id: described(Id, 'Id of the record.'),
  label: Text(maxLengths.purpose, { description: 'Its name, purpose or domain, for display.' }),
})
export type Found = Static<typeof Found>

export const searchConsole = endpoint({
  id: 'searchConsole',
  method: 'GET',
  path: '/v1/console/search',
  tag: 'Console',
  summary:
    'Finds records by id, or by text in the name, purpose or domain of the latest 1,000 of each kind, exact matches first.',
  roles: readerRoles,
  query: Type.Object({
    q: Type.Optional(
      Text(maxLengths.search, { description: 'An id, or part of a text; without it, nothing is found.' }),
    ),
  }),
  responses: { 200: PageOf(Found) },
  responseDescriptions: { 200: 'The records found, at most 20.' },
  errors: ['query_too_slow'],
})
