import { isAmount } from '../amounts.ts'
import { isHostOrParent } from '../host-names.ts'
import { decodeJson } from './base64.ts'
import { peekJson } from './peek-json.ts'

/** The payment that a merchant requests in a 402 response. */
export interface PaymentChallenge {
  readonly scheme: 'svc-sandbox'
  readonly network: 'sandbox'
  readonly amount: string
  readonly currency: 'USDC'
  /** The URL that is paid for. */
  readonly resource: string
  /** The domain under which the merchant collects. */
  readonly merchant_domain: string
  readonly category?: string
  /** Why the proof in the request was refused. */
  readonly reason?: string
}

/** The header in which a merchant repeats its challenge, as base64url of the JSON. */
const challengeHeader = 'x-payment-challenge'

/** Max length of the header; far longer than any challenge. */
const maxHeaderLength = 16_384

/**
 * The challenge of a 402 response, from its header, or else from its body, which stays readable. Undefined if
 * there is none that this client understands.
 */
export async function readChallenge(response: Response): Promise<PaymentChallenge | undefined> {
  const header = response.headers.get(challengeHeader)
  const fromHeader = header === null || header.length > maxHeaderLength ? undefined : decodeJson(header)
  const challenge = fromHeader ?? (await peekJson(response))
  return isChallenge(challenge) ? { ...challenge, resource: cleanOf(challenge.resource) } : undefined
}

/** The resource as it is, or if it could hide something from a reader, as the URL that it stands for. */
function cleanOf(resource: string): string {
  return /^[^#\p{C}\p{Z}]+$/u.test(resource) ? resource : withoutFragment(resource)
}

/** Max characters of an amount and a category (Limits). */
const maxTextLength = 255

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
    amount.length <= maxTextLength &&
    /[1-9]/.test(amount) &&
    typeof resource === 'string' &&
    URL.canParse(resource) &&
    typeof merchant_domain === 'string' &&
    (category === undefined || (typeof category === 'string' && Array.from(category).length <= maxTextLength))
  )
}

/** Whether the challenge is for exactly this URL: nothing is paid that was not requested. */
export function isForAddress({ resource }: PaymentChallenge, address: string): boolean {
  return URL.canParse(address) && withoutFragment(resource) === withoutFragment(address)
}

function withoutFragment(address: string): string {
  const url = new URL(address)
  url.hash = ''
  return url.href
}

/** Whether the merchant collects under the host of the resource, or under a parent domain. */
export function isCollectedByHost({ resource, merchant_domain }: PaymentChallenge): boolean {
  return isHostOrParent(merchant_domain, new URL(resource).hostname)
}
