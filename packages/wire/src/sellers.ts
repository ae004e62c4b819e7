import { Type, type Static } from 'typebox'

import { ownerRoles } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { Id, Timestamp } from './fields.ts'
import { PageQuery } from './pages.ts'

/** The keys and values inside `price_config` are the seller's own. */
const PriceConfig = Type.Record(Type.String(), Type.Unknown(), { examples: [{ default: '0.10' }] })

/** Seller request fields. */
export const NewSeller = Type.Object({
  name: Type.String(),
  domain: Type.String({ format: 'hostname', examples: ['api.example.com'] }),
  price_config: PriceConfig,
})

export const Seller = Type.Object({
  id: Id,
  name: Type.String(),
  domain: Type.String({ description: 'Lower-case ASCII host name.' }),
  price_config: PriceConfig,
  created_at: Timestamp,
})
export type Seller = Static<typeof Seller>

export const createSeller = endpoint({
  id: 'createSeller',
  method: 'POST',
  path: '/sellers',
  tag: 'Sellers',
  summary: 'Registers a seller under its domain.',
  roles: ownerRoles,
  body: NewSeller,
  responses: { 201: Seller },
  errors: ['seller_exists'],
})

export const listSellers = endpoint({
  id: 'listSellers',
  method: 'GET',
  path: '/sellers',
  tag: 'Sellers',
  summary: 'Lists sellers, newest first.',
  roles: [...ownerRoles, 'merchant'],
  query: PageQuery,
  responses: { 200: Type.Array(Seller) },
  errors: [],
})
