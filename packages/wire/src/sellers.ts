import { Type, type Static } from './schema/type.ts'

import { ownerRoles, readerRoles } from './roles.ts'
import { endpoint } from './endpoint.ts'
import { described, Id, Name, Nullable, OneOf, Text, Timestamp } from './fields.ts'
import { PageOf, PageQuery } from './pages.ts'
import { maxItems, maxLengths } from './lengths.ts'

/** The keys and values in `price_config` are defined by the seller. */
const PriceConfig = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: maxItems.priceConfig,
  description: "Prices, in the seller's own format: stored unchanged, and not used by the service.",
  examples: [{ default: '0.10' }],
})

/** Seller request fields. */
export const NewSeller = Type.Object({
  name: described(Name, 'Display name of the seller.'),
  domain: Type.String({
    format: 'hostname',
    maxLength: maxLengths.domain,
    description: 'Domain that payments use as `merchant_domain`; unique in each environment.',
    examples: ['api.example.com'],
  }),
  price_config: PriceConfig,
})

/** Whether an account has proved that it owns a domain. */
export const verificationStatuses = ['pending', 'verified'] as const

export const Seller = Type.Object({
  id: described(Id, 'Id of the seller.'),
  name: described(Name, 'Display name of the seller.'),
  domain: Text(maxLengths.domain, { description: 'Lower-case ASCII host name.' }),
  price_config: PriceConfig,
  created_at: described(Timestamp, 'When the seller was registered.'),
  status: Type.Optional(
    described(
      OneOf(['pending']),
      'Present while the domain is not verified: the seller cannot collect from other accounts.',
    ),
  ),
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
  responseDescriptions: { 201: 'The seller was registered.' },
  errors: ['seller_exists'],
})

export const listSellers = endpoint({
  id: 'listSellers',
  method: 'GET',
  path: '/sellers',
  tag: 'Sellers',
  summary: 'Lists sellers, newest first.',
  roles: [...readerRoles, 'merchant'],
  query: PageQuery,
  responses: { 200: PageOf(Seller) },
  responseDescriptions: { 200: 'A page of sellers.' },
  errors: [],
})

export const SellerVerification = Type.Object({
  domain: Text(maxLengths.domain, { description: 'Lower-case ASCII host name.' }),
  seller_id: described(Id, 'Id of the seller.'),
  status: described(OneOf(verificationStatuses), 'Whether the seller has the domain.'),
  record_name: Text(maxLengths.message, { description: 'The name of the DNS TXT record.' }),
  file_url: Text(maxLengths.url, {
    description: 'The URL of the file that can be used instead of the record.',
  }),
  text: Text(maxLengths.message, { description: 'The text of the record, or of one line in the file.' }),
  missing: described(
    Nullable(Text(maxLengths.message)),
    'What the check did not find; null if it succeeded, or was not run.',
  ),
})
export type SellerVerification = Static<typeof SellerVerification>

const DomainParams = Type.Object({
  domain: Text(maxLengths.domain, { description: 'Domain of the seller.' }),
})

export const getSellerVerification = endpoint({
  id: 'getSellerVerification',
  method: 'GET',
  path: '/sellers/{domain}/verification',
  tag: 'Sellers',
  summary: 'Returns how to verify the domain of a seller, and whether it is verified.',
  roles: readerRoles,
  params: DomainParams,
  responses: { 200: SellerVerification },
  responseDescriptions: { 200: 'What to publish, and whether the domain is verified.' },
  errors: ['not_found'],
})

export const verifySeller = endpoint({
  id: 'verifySeller',
  method: 'POST',
  path: '/sellers/{domain}/verification',
  tag: 'Sellers',
  summary: 'Checks for the domain verification text, and assigns the domain to the account if it is found.',
  roles: ownerRoles,
  params: DomainParams,
  responses: { 200: SellerVerification },
  responseDescriptions: { 200: 'Whether the domain is now verified, and if not, what is missing.' },
  errors: ['not_found', 'seller_exists'],
})

export const ReleasedDomain = Type.Object({
  domain: Text(maxLengths.domain, { description: 'The released domain, as a lower-case ASCII host name.' }),
  seller_id: described(Id, 'Seller that had the domain.'),
  account_id: described(Id, 'Account of that seller.'),
})
export type ReleasedDomain = Static<typeof ReleasedDomain>

export const releaseDomain = endpoint({
  id: 'releaseDomain',
  method: 'DELETE',
  path: '/sellers/domains/{domain}',
  tag: 'Sellers',
  summary:
    "Releases a seller's domain in the environment of the key, so that another account can register it.",
  roles: ['operator'],
  params: Type.Object({
    domain: Text(maxLengths.domain, { description: 'Domain of the seller, upper or lower case.' }),
  }),
  responses: { 200: ReleasedDomain },
  responseDescriptions: { 200: 'The domain was released.' },
  errors: ['not_found'],
  errorDescriptions: { not_found: 'no seller has that domain in the environment of the key' },
})
