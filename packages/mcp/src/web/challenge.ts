import { hostNameOf, isAmount } from '@purser/client'

import { bounded } from './bounded.ts'
import type { WebAnswer } from './exchange.ts'

/** What a merchant asks for, as far as a buyer needs it. All of it is the merchant's text; see `QuotedChallenge`. */
export interface Challenge {
  readonly amount: string
  readonly currency: string
  readonly resource: string
  /** Normalized for comparison. */
  readonly merchantDomain: string
  readonly category: string | undefined
}

/** The challenge of a 402, from its body or its `X-Payment-Challenge` header; undefined if it has none. */
export function readChallenge(answer: WebAnswer): Challenge | undefined {
  for (const fields of challengesOf(answer)) {
    const challenge = challengeIn(fields)
    if (challenge) return challenge
  }
  return undefined
}

/** The challenge of a 402 for a model: the merchant's text, each field truncated to 200 characters. */
export interface QuotedChallenge {
  readonly amount: string | null
  readonly currency: string | null
  readonly resource: string | null
  readonly merchant_domain: string | null
  readonly category: string | null
  /** Why a proof was not accepted. */
  readonly reason: string | null
}

/** The text of a 402, valid or not; null if it has no challenge. */
export function quoteChallenge(answer: WebAnswer): QuotedChallenge | null {
  const [fields] = challengesOf(answer)
  if (!fields) return null
  const quote = (name: string) => {
    const value = fields[name]
    return typeof value === 'string' ? bounded(value, maxQuotedLength) : null
  }
  return {
    amount: quote('amount'),
    currency: quote('currency'),
    resource: quote('resource'),
    merchant_domain: quote('merchant_domain'),
    category: quote('category'),
    reason: quote('reason'),
  }
}

/** The `X-Payment-Proof` header for a proof, exactly as the service returned it. */
export function proofHeader(proof: object): string {
  return Buffer.from(JSON.stringify(proof)).toString('base64url')
}

type Fields = Record<string, unknown>

function challengesOf(answer: WebAnswer): Fields[] {
  const header = answer.header('x-payment-challenge')
  const found = [
    parse(answer.bytes.toString('utf8')),
    header === undefined ? undefined : parse(Buffer.from(header, 'base64url').toString('utf8')),
  ]
  return found.filter((fields): fields is Fields => fields?.['amount'] !== undefined)
}

function challengeIn(fields: Fields): Challenge | undefined {
  const { amount, currency = 'USDC', resource, merchant_domain: domain, category } = fields
  if (!isText(amount, maxAmountLength) || !isAmount(amount)) return undefined
  if (!isText(resource, maxAddressLength) || !URL.canParse(resource)) return undefined
  if (!isText(currency, maxWordLength) || !isText(domain, maxDomainLength)) return undefined
  if (category !== undefined && category !== null && !isText(category, maxWordLength)) return undefined
  return { amount, currency, resource, merchantDomain: hostNameOf(domain), category: category ?? undefined }
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength
}

/** Twelve digits, a point and six digits (decision 6). */
const maxAmountLength = 19
/** The interface's length limit for a URL. */
const maxAddressLength = 2083
const maxDomainLength = 253
const maxWordLength = 128
const maxQuotedLength = 200

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}
