import { awaitApproval, type ApprovalReference, type Purser } from '@purser/client'

/** A console page that the person behind an MCP client is asked to open. */
export interface ConsolePage {
  readonly approval: ApprovalReference
  readonly key: string
  readonly message: string
  readonly url: string
}

const keyPrefix = 'console_'

/** The page on which a person decides; undefined if the tool's result needs no decision. */
export function consolePageOf(structured: Readonly<Record<string, unknown>>): ConsolePage | undefined {
  const { approval, payment } = structured as Partial<WaitingResult>
  if (approval?.status !== 'pending') return undefined
  const price = payment ? ` of ${payment.amount} ${payment.currency} to ${payment.merchant_domain}` : ''
  const message = `A payment${price} waits for an approval in the Purser console. Open it to approve or deny.`
  return { approval, key: keyPrefix + approval.id, message, url: approval.url }
}

interface WaitingResult {
  readonly approval: ApprovalReference | null
  readonly payment: {
    readonly amount: string
    readonly currency: string
    readonly merchant_domain: string
  } | null
}

/** The approvals whose pages the person agreed to open, from the answers of a call. */
export function openedIn(answers: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(answers).flatMap(([key, answer]) =>
    key.startsWith(keyPrefix) && isAccepted(answer) ? [key.slice(keyPrefix.length)] : [],
  )
}

export function isAccepted(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'action' in answer && answer.action === 'accept'
}

/** Waits until a person has decided, up to a time limit. */
export async function awaitDecision(
  client: Purser,
  approvalId: string,
  options: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<void> {
  try {
    const { id, status, expires_at, url } = await client.approvals.get(approvalId, options)
    await awaitApproval(client, { id, status, expires_at, url }, options)
  } catch {
    // The purchase itself reads the decision.
    options.signal.throwIfAborted()
  }
}
