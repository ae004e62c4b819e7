import { Type, type TSchema } from 'typebox'

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
export const AmountText = Type.String({ pattern: amountPattern, examples: ['10.00'] })

/** An amount that the ledger keeps: at most twelve digits before the point. */
export const Amount = Type.String({
  pattern: amountPattern,
  'x-max-whole-digits': amountWholeDigits,
  examples: ['100.00'],
})

/** An amount to be paid: as `Amount`, and above zero. */
export const PaymentAmount = Type.String({
  pattern: amountPattern,
  'x-max-whole-digits': amountWholeDigits,
  'x-above-zero': true,
  examples: ['1.00'],
})

/** A sum that the service computed: at least two decimals, no more than needed. */
export const Sum = Type.String({ examples: ['12.50'] })

/** The literal `USDC`, where it is required. */
export const Usdc = Type.Literal('USDC')

/** The literal `USDC`, taken when the field is absent. */
export const UsdcByDefault = Type.Optional(Type.Literal('USDC', { default: 'USDC' }))

/** An ISO 8601 timestamp with its zone. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2099-01-01T00:00:00Z'] })

/** An http or https address of at most 2,083 characters. */
export const HttpUrl = Type.String({
  format: 'uri',
  maxLength: 2083,
  examples: ['https://api.example.com/data'],
})

/** An opaque identifier: nobody may parse it (Resources and their fields). */
export const Id = Type.String({ description: 'Opaque identifier.' })

/** The value or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of the words of a vocabulary. */
export const OneOf = <const Words extends readonly string[]>(words: Words) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words] })
