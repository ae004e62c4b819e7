import { Type, type Static } from 'typebox'

import { ownerRoles } from '../roles.ts'
import { endpoint } from '../endpoint.ts'
import { described, Id, OneOf, Text } from '../fields.ts'
import { maxLengths } from '../lengths.ts'
import { PageOf } from '../pages.ts'

export const foundKinds = ['agent', 'mandate', 'seller', 'transaction'] as const
export const FoundKind = OneOf(foundKinds)

export const Found = Type.Object({
  kind: described(FoundKind, 'What was found.'),
  id: described(Id, 'Id of what was found.'),
  label: Text(maxLengths.purpose, { description: 'Its name, purpose or domain, for people to read.' }),
})
export type Found = Static<typeof Found>

export const searchConsole = endpoint({
  id: 'searchConsole',
  method: 'GET',
  path: '/v1/console/search',
  tag: 'Console',
  summary: 'What has this id, or this text in its name, purpose or domain; of the latest 1,000 of each kind.',
  roles: ownerRoles,
  query: Type.Object({
    q: Type.Optional(
      Text(maxLengths.search, { description: 'An id, or a part of a text; nothing is found when left out.' }),
    ),
  }),
  responses: { 200: PageOf(Found) },
  responseDescriptions: { 200: 'What was found, at most 20 records.' },
  errors: ['query_too_slow'],
})
