import { isAmount } from '../amounts.ts'
import { isHostOrParent } from '../host-names.ts'
import { decodeJson } from './base64url.ts'
import { peekJson } from './peek-json.ts'

/** What a merchant asks for in a 402 answer. */
export interface PaymentChallenge {
  readonly scheme: 'svc-sandbox'
  readonly network: 'sandbox'
  readonly amount: string
  readonly currency: 'USDC'
  /** The address that is paid for. */
  readonly resource: string
  /** The domain under which the merchant collects. */
  readonly merchant_domain: string
  readonly category?: string
  /** Why a proof that was shown is refused. */
  readonly reason?: string
}

/** The header in which a merchant repeats its challenge, as base64url of the JSON. */
const challengeHeader = 'x-payment-challenge'

/** The longest header that is read; far longer than any challenge. */
const maxHeaderLength = 16_384

/**
 * The challenge of a 402 answer, from its header, or else from its body, which stays readable. Undefined when there is
 * none that this client understands.
 */
export async function readChallenge(response: Response): Promise<PaymentChallenge | undefined> {
  const header = response.headers.get(challengeHeader)
  const fromHeader = header === null || header.length > maxHeaderLength ? undefined : decodeJson(header)
  const challenge = fromHeader ?? (await peekJson(response))
  return isChallenge(challenge) ? challenge : undefined
}

function isChallenge(value: unknown): value is PaymentChallenge {
  if (typeof value !== 'object' || value === null) return false
  const { scheme, network, amount, currency, resource, merchant_domain, category } = value as Record<
    string,
    unknown
  >
  return (
    scheme === 'svc-sandbox' &&
    network === 'sandbox' &&
    currency === 'USDC' &&
    isAmount(amount) &&
    typeof resource === 'string' &&
    URL.canParse(resource) &&
    typeof merchant_domain === 'string' &&
    (category === undefined || typeof category === 'string')
  )
}

/** Whether the challenge is about this very address: nobody pays for what was not asked for. */
export function isForAddress({ resource }: PaymentChallenge, address: string): boolean {
  return URL.canParse(address) && withoutFragment(resource) === withoutFragment(address)
}

function withoutFragment(address: string): string {
  const url = new URL(address)
  url.hash = ''
  return url.href
}

/** Whether the merchant collects under the host of what it sells, or under a domain that the host lies below. */
export function isCollectedByHost({ resource, merchant_domain }: PaymentChallenge): boolean {
  return isHostOrParent(merchant_domain, new URL(resource).hostname)
}
