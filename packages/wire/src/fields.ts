import { Type, type TSchema, type TSchemaOptions } from 'typebox'

import { maxItems, maxLengths } from './lengths.ts'

/** The only currency of the interface (Limits). */
export const currencies = ['USDC'] as const
export type Currency = (typeof currencies)[number]

/** The two worlds a key can belong to (Authentication, rule 2). */
export const environments = ['sandbox', 'production'] as const
export type Environment = (typeof environments)[number]

/** How an amount is written: up to six digits after the point, never a sign, never an exponent. */
export const amountPattern = '^[0-9]+(\\.[0-9]{1,6})?$'

/** Most digits before the point of an amount that the ledger keeps. */
export const amountWholeDigits = 12

/** A decimal amount as it is compared: by its text. */
export const AmountText = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  description: 'Amount in USDC, as decimal text; compared as text.',
  examples: ['10.00'],
})

/** An amount that the ledger keeps: at most twelve digits before the point. */
export const Amount = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  'x-max-whole-digits': amountWholeDigits,
  description: 'Amount in USDC, as decimal text with at most 12 digits before the point and 6 after it.',
  examples: ['100.00'],
})

/** An amount to be paid: as `Amount`, and above zero. */
export const PaymentAmount = Type.String({
  pattern: amountPattern,
  maxLength: maxLengths.amount,
  'x-max-whole-digits': amountWholeDigits,
  'x-above-zero': true,
  description: 'Amount to be paid in USDC, as decimal text.',
  examples: ['1.00'],
})

/** A sum that the service computed: at least two decimals, no more than needed. */
export const Sum = Type.String({
  maxLength: maxLengths.amount,
  description: 'Sum in USDC, as decimal text.',
  examples: ['12.50'],
})

/** The literal `USDC`, where it is required. */
export const Usdc = Type.Literal('USDC', { description: 'Currency of the amounts; always `USDC`.' })

/** The literal `USDC`, taken when the field is absent. */
export const UsdcByDefault = Type.Optional(
  Type.Literal('USDC', { default: 'USDC', description: 'Currency of the amounts; only `USDC` is accepted.' }),
)

/** An ISO 8601 timestamp with its zone. */
export const Timestamp = Type.String({
  format: 'date-time',
  maxLength: maxLengths.timestamp,
  description: 'Time with its zone (RFC 3339).',
  examples: ['2099-01-01T00:00:00Z'],
})

/** An http or https address. */
export const HttpUrl = Type.String({
  format: 'uri',
  maxLength: maxLengths.url,
  description: 'Absolute http or https address.',
  examples: ['https://api.example.com/data'],
})

/** An opaque identifier: nobody may parse it (Resources and their fields). */
export const Id = Type.String({ maxLength: maxLengths.id, description: 'Opaque identifier.' })

/** The domain of a seller, as somebody wrote it. */
export const Domain = Type.String({
  maxLength: maxLengths.domain,
  description: 'Host name of a seller, without a port.',
  examples: ['api.example.com'],
})

export const Name = Type.String({ maxLength: maxLengths.name, description: 'Name for people to read.' })
export const Purpose = Type.String({
  maxLength: maxLengths.purpose,
  description: 'What the budget is for, in free text.',
  examples: ['Buy research data'],
})
export const Category = Type.String({
  maxLength: maxLengths.category,
  description: 'Category of what is bought, such as `data`.',
})
export const ReasonDetail = Type.String({
  maxLength: maxLengths.reasonDetail,
  description: 'What was asked for, the limit, and what would help.',
})
export const Capabilities = Type.Array(Type.String({ maxLength: maxLengths.capability }), {
  maxItems: maxItems.capabilities,
  description: 'What the agent says it can do; for people to read, and checked by nothing.',
})

/** A text that the service writes, or that only it can tell apart from others. */
export const Text = (maxLength: number, options: TSchemaOptions = {}) =>
  Type.String({ maxLength, ...options })

/** The schema with a description of its own: what a field means, in which unit, and what null means. */
export function described<T extends TSchema>(schema: T, description: string): T {
  const kept = Object.getOwnPropertyDescriptors(schema)
  const text = { value: description, enumerable: true, configurable: true, writable: true }
  return Object.defineProperties({}, { ...kept, description: text }) as T
}

/** The value or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of the words of a vocabulary. */
export const OneOf = <const Words extends readonly string[]>(words: Words) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words] })

/** The environment of a key, and of every record that is made with it. */
export const Environment = OneOf(environments)
