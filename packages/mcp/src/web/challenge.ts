import { hostNameOf, isAmount } from '@purser/client'

import type { WebAnswer } from './exchange.ts'

/** What a merchant asks for, as far as a buyer needs it. */
export interface Challenge {
  readonly amount: string
  readonly currency: string
  readonly resource: string
  /** As domains are compared, however it was spelled. */
  readonly merchantDomain: string
  readonly category: string | undefined
  /** Why a proof that was shown did not pay; only after one was. */
  readonly reason: string | undefined
}

/** The challenge of a 402, from its body or its `X-Payment-Challenge` header; undefined when it has none. */
export function readChallenge(answer: WebAnswer): Challenge | undefined {
  const header = answer.header('x-payment-challenge')
  return (
    challengeIn(answer.bytes.toString('utf8')) ??
    (header === undefined ? undefined : challengeIn(Buffer.from(header, 'base64url').toString('utf8')))
  )
}

/** The `X-Payment-Proof` header of a proof, exactly as the service gave it. */
export function proofHeader(proof: object): string {
  return Buffer.from(JSON.stringify(proof)).toString('base64url')
}

function challengeIn(text: string): Challenge | undefined {
  const found = parse(text)
  const word = (name: string) => {
    const value = found?.[name]
    return typeof value === 'string' && value.length <= maxWordLength ? value : undefined
  }
  const amount = word('amount')
  const resource = word('resource')
  const merchantDomain = word('merchant_domain')
  if (amount === undefined || !isAmount(amount)) return undefined
  if (resource === undefined || !URL.canParse(resource) || merchantDomain === undefined) return undefined
  return {
    amount,
    currency: word('currency') ?? 'USDC',
    resource,
    merchantDomain: hostNameOf(merchantDomain),
    category: word('category'),
    reason: word('reason'),
  }
}

/** The longest address that the interface takes. */
const maxWordLength = 2083

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
