import { Type, type Schema, type SchemaOptions } from './schema/type.ts'

import { maxItems, maxLengths } from './lengths.ts'

/** The only currency of the interface (Limits). */
export const currencies = ['USDC'] as const
export type Currency = (typeof currencies)[number]

/** The two environments of keys (Authentication, rule 2). */
export const environments = ['sandbox', 'production'] as const
export type Environment = (typeof environments)[number]

/** Amount format: up to six decimals, no sign, no exponent. */
export const amountPattern = '^[0-9]+(\\.[0-9]{1,6})?$'

/** Max digits before the decimal point of an amount in the ledger. */
export const amountWholeDigits = 12

/** A decimal amount, compared as text. */
export const AmountText = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  description: 'Amount in USDC, as decimal text; compared as text.',
  examples: ['10.00'],
})

/** An amount stored in the ledger: at most twelve digits before the point. */
export const Amount = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  'x-max-whole-digits': amountWholeDigits,
  description: 'Amount in USDC, as decimal text with at most 12 digits before the point and 6 after it.',
  examples: ['100.00'],
})

/** A payment amount: an `Amount` above zero. */
export const PaymentAmount = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  'x-max-whole-digits': amountWholeDigits,
  'x-above-zero': true,
  description: 'Payment amount in USDC, as decimal text.',
  examples: ['1.00'],
})

/** A sum computed by the service: at least two decimals, no more than needed. */
export const Sum = Type.String({
  maxLength: maxLengths.amount,
  description: 'Sum in USDC, as decimal text.',
  examples: ['12.50'],
})

/** Payments minus refunds. */
export const NetSum = Type.String({
  maxLength: maxLengths.amount,
  description: 'Payments minus refunds in USDC, as decimal text; negative if more was refunded.',
  examples: ['12.50'],
})

/** The literal `USDC`, required. */
export const Usdc = Type.Literal('USDC', { description: 'Currency of the amounts; always `USDC`.' })

/** The literal `USDC`, the default if the field is absent. */
export const UsdcByDefault = Type.Optional(
  Type.Literal('USDC', { default: 'USDC', description: 'Currency of the amounts; only `USDC` is accepted.' }),
)

/** An ISO 8601 timestamp with a time zone. */
export const Timestamp = Type.String({
  format: 'date-time',
  maxLength: maxLengths.timestamp,
  description: 'Time with a time zone (RFC 3339).',
  examples: ['2099-01-01T00:00:00Z'],
})

/** An http or https URL. */
export const HttpUrl = Type.String({
  format: 'uri',
  maxLength: maxLengths.url,
  description: 'Absolute http or https URL.',
  examples: ['https://api.example.com/data'],
})

/** An opaque identifier: clients must not parse it (Resources and their fields). */
export const Id = Type.String({ maxLength: maxLengths.id, description: 'Opaque identifier.' })

/** The domain of a seller, as provided. */
export const Domain = Type.String({
  maxLength: maxLengths.domain,
  description: 'Host name of a seller, without a port.',
  examples: ['api.example.com'],
})

export const Name = Type.String({ maxLength: maxLengths.name, description: 'Display name.' })
export const Purpose = Type.String({
  maxLength: maxLengths.purpose,
  description: 'What the budget is for, as free text.',
  examples: ['Buy research data'],
})
export const Category = Type.String({
  maxLength: maxLengths.category,
  description: 'Category of the purchase, such as `data`.',
})
export const ReasonDetail = Type.String({
  maxLength: maxLengths.reasonDetail,
  description: 'The requested amount, the limit, and what would help.',
})
export const Capabilities = Type.Array(Type.String({ maxLength: maxLengths.capability }), {
  maxItems: maxItems.capabilities,
  description: 'What the agent says it can do; informational, not checked.',
})

/** Texts that callers keep with a record, by name. */
export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: maxLengths.metadataValue }), {
  maxProperties: maxItems.metadata,
  propertyNames: { minLength: 1, maxLength: maxLengths.metadataKey },
  description: 'Your own texts, by name: at most 20 names of at most 40 characters, and 500 for each text.',
  examples: [{ project: 'apollo' }],
})

/** A filter by metadata: `metadata[name]=text` in a query. */
export const MetadataFilter = described(
  Metadata,
  'Only records with this text under this name of their `metadata`, as `metadata[name]=text`. All of several must match.',
)

/**
 * For objects in requests about money that interface 0.1.0 does not list: if a mistyped field were dropped, a limit would be
 * missing, or a whole payment refunded instead of a part.
 */
export const noOtherFields = { additionalProperties: false } as const

/** A text written by the service, or one that only the service can interpret. */
export const Text = (maxLength: number, options: SchemaOptions = {}) => Type.String({ maxLength, ...options })

/** The schema with its own description: what the field means, its unit, and what null means. */
export function described<T extends Schema>(schema: T, description: string): T {
  const kept = Object.getOwnPropertyDescriptors(schema)
  const text = { value: description, enumerable: true, configurable: true, writable: true }
  return Object.defineProperties({}, { ...kept, description: text }) as T
}

/** The value or null. */
export const Nullable = <T extends Schema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of the values of a vocabulary. */
export const OneOf = <const Words extends readonly string[]>(words: Words) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words] })

/** The environment of a key, and of every record created with it. */
export const Environment = OneOf(environments)
