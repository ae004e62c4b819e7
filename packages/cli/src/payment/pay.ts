import {
  chargedAmountOf,
  paymentDecisionOf,
  paymentResultOf,
  PaymentUncertainError,
  wrapFetchWithPayment,
  type Mandate,
  type PaymentDecision,
  type PaymentReceipt,
  type PaymentResult,
  type ProofRecord,
  type Purser,
} from '@purser/client'
import { openPurchaseFiles } from '@purser/client/purchase-files'

import { CommandError, exitCodes, type Exit } from '../exit-codes.ts'
import { harmlessJson, harmlessLines } from '../output/harmless.ts'
import type { Io } from '../io.ts'
import { openDelivery, type Delivery } from './delivery.ts'
import { purchasesFolder } from './purchases-folder.ts'
import { decisionWords, paidWords, proofWords, unknownChargeWords } from './text.ts'

/** The options of a purchase. */
interface Purchase {
  readonly url: string
  readonly init: RequestInit
  readonly client: Purser
  readonly mandate: Pick<Mandate, 'id' | 'agent_id'>
  /** Identifies a purchase across runs. */
  readonly purchaseId: string | undefined
  readonly metadata: Record<string, string> | undefined
  readonly timeoutMs: number
  /** How long to wait for a person's approval. */
  readonly approvalWaitMs: number
}

interface PayOptions {
  readonly maxAmount?: string | undefined
  readonly output?: string | undefined
  readonly json?: true
}

/** Fetches and pays, delivers the body, and prints the decision and the payment to standard error. */
export async function pay(
  purchase: Purchase,
  { maxAmount, output, json }: PayOptions,
  io: Io,
): Promise<void> {
  // Before paying: what cannot be written must not be bought.
  const delivery = openDelivery(output, io)
  let decision: PaymentDecision | undefined
  try {
    const { client, mandate, url, init, purchaseId, metadata, timeoutMs, approvalWaitMs } = purchase
    const folder = purchasesFolder(mandate.agent_id, io)
    const purchases = purchaseId === undefined ? undefined : await openPurchaseFiles(folder)
    const payingFetch = wrapFetchWithPayment(fetch, {
      client,
      agentId: mandate.agent_id,
      mandateId: mandate.id,
      maxAmount,
      purchases,
      metadata,
      random: io.random,
      onApprovalRequired: ({ approval, challenge: { amount, currency, resource } }) => {
        if (approvalWaitMs === 0) return undefined
        const payment = `${amount} ${currency} for ${resource}`
        io.printError(harmlessLines(`Waiting for a person to approve ${payment}: ${approval.url}`))
        return { waitMs: approvalWaitMs }
      },
      onDecision: (made) => {
        decision = made
        if (!json) io.printError(harmlessLines(decisionWords(made, maxAmount)))
      },
    })
    const signal = AbortSignal.any([io.interruption(), AbortSignal.timeout(timeoutMs + approvalWaitMs)])
    const answer = await payingFetch(url, { ...init, signal, purchaseId })
    await settle({ answer, client, delivery, json }, io)
  } catch (error) {
    delivery.discard()
    throw await explainFailure(error, { decision, purchase, json }, io)
  }
}

/** The `--json` output for a payment whose proof was sent. */
type PaymentOutcome =
  | 'paid'
  | 'paid_not_delivered'
  | 'delivered_not_charged'
  /** Up to the whole amount may have been charged, or may still be. */
  | 'delivered_charge_unknown'
  | 'not_paid'
  | 'uncertain'

function reportOf(outcome: PaymentOutcome, facts: PaymentFacts) {
  const { nonce, amount, charged_amount, transaction_id } = facts
  return { outcome, nonce, amount, charged_amount, transaction_id }
}

type PaymentFacts = Pick<PaymentResult, 'nonce' | 'amount' | 'charged_amount' | 'transaction_id'>

interface Settlement {
  readonly answer: Response
  readonly client: Purser
  readonly delivery: Delivery
  readonly json: true | undefined
}

async function settle({ answer, client, delivery, json }: Settlement, io: Io): Promise<void> {
  const decision = paymentDecisionOf(answer)
  const place = answer.ok ? await delivery.take(answer.body) : undefined
  const { printError, print, exitWith, interruption } = io
  const first = paymentResultOf(answer)
  const result = first && (await latestResult(first, client, interruption()))
  const outcome = result && outcomeOf(result)
  if (result && outcome === 'delivered_charge_unknown')
    printError(harmlessLines(unknownChargeWords(result, decision, io)))
  else if (result && outcome !== 'not_paid' && !json) printError(harmlessLines(paidWords(result, decision)))
  if (place !== undefined && !json) printError(`The body is in ${place}.`)
  if (!answer.ok) {
    delivery.discard()
    if (!json) printError(harmlessLines(await refusalWords(answer, decision)))
  }
  if (json) {
    const { status } = answer
    const payment = result && outcome ? reportOf(outcome, result) : null
    const receipt = receiptOf(result, decision)
    const report = { status, decision: decision ?? null, payment, receipt, body_file: place ?? null }
    print(harmlessJson(report, 2))
    if (!answer.ok) void answer.body?.cancel().catch(() => {})
  }
  // A 304 to a conditional request is what was asked for.
  const isAnswered = answer.ok || answer.status === 304
  if (!isAnswered) exitWith(isDenied(decision) ? exitCodes.denied : exitCodes.failed)
}

/** The result after the body: a merchant may charge at its end, and the service may answer again. */
async function latestResult(
  result: PaymentResult,
  client: Purser,
  signal: AbortSignal,
): Promise<PaymentResult> {
  if (!result.delivered || result.charged_amount !== null) return result
  const proof = await lookUp(client, result.nonce, signal)
  if (!proof) return result
  const { status, transaction_id } = proof
  return { ...result, status, transaction_id, charged_amount: chargedAmountOf(proof) }
}

function outcomeOf({ delivered, status }: PaymentResult): PaymentOutcome {
  if (!delivered) return 'not_paid'
  switch (status) {
    case 'captured':
      return 'paid'
    case 'voided':
    case 'expired':
      return 'delivered_not_charged'
    case 'open':
    case 'authorized':
    case 'unknown':
      return 'delivered_charge_unknown'
    default:
      return status satisfies never
  }
}

function isDenied(decision: PaymentDecision | undefined): boolean {
  return (
    decision?.outcome === 'denied' || (decision?.outcome === 'skipped' && decision.why === 'over_max_amount')
  )
}

/** The merchant's receipt with the charge that is reported; null if nothing was paid, or if that is unknown. */
function receiptOf(
  result: PaymentResult | undefined,
  decision: PaymentDecision | undefined,
): PaymentReceipt | null {
  if (result?.status !== 'captured' || result.transaction_id === null) return null
  const { transaction_id, charged_amount: charged, nonce, receipt } = result
  const amount = charged ?? result.amount
  const merchant_domain = decision?.challenge?.merchant_domain ?? ''
  return { merchant_domain, ...receipt, transaction_id, amount, nonce }
}

/** How much of an error response is printed. */
const toldCharacters = 2_000

async function refusalWords(answer: Response, decision: PaymentDecision | undefined): Promise<string> {
  // The decision already showed the challenge.
  if (answer.status === 402 && decision && decision.outcome !== 'approved') {
    void answer.body?.cancel().catch(() => {})
    return 'Nothing was paid.'
  }
  return answerWords(answer)
}

/** An error response of the merchant. */
async function answerWords(answer: Response): Promise<string> {
  const text = await beginningOf(answer)
  return [`The merchant answers ${answer.status} ${answer.statusText}`.trimEnd(), text]
    .filter(Boolean)
    .join('\n')
}

/** The beginning of a possibly endless response, within a time limit. */
async function beginningOf({ body }: Response): Promise<string> {
  if (!body) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (text.length < toldCharacters) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // Print what arrived before the connection broke or time ran out.
  } finally {
    void reader.cancel().catch(() => {})
  }
  return text.slice(0, toldCharacters)
}

/** Time limit for each lookup of a proof. */
const lookUpTimeoutMs = 5_000

interface Failed {
  readonly decision: PaymentDecision | undefined
  readonly purchase: Purchase
  readonly json: true | undefined
}

/** The error, with the state of the money if a proof was sent. */
async function explainFailure(
  error: unknown,
  { decision, purchase, json }: Failed,
  io: Io,
): Promise<unknown> {
  const { url, client } = purchase
  const { interruption, print, printError } = io
  const isInterrupted = interruption().aborted
  const nonce = error instanceof PaymentUncertainError ? error.nonce : nonceOf(decision)
  if (nonce !== undefined) {
    // Ctrl-C ends the command without waiting.
    const proof = isInterrupted ? undefined : await lookUp(client, nonce)
    const isUncertain = error instanceof PaymentUncertainError
    const unsaved = isUncertain ? undefined : unsavedWords(error)
    printError(harmlessLines(proofWords(proof, { nonce, isSaved: unsaved === undefined }, io)))
    if (isInterrupted) return interruption().reason
    const why = isUncertain ? whyNoGoods(error, url) : unsaved
    if (why !== undefined) {
      const response = isUncertain ? error.response : undefined
      const amount = isUncertain ? error.amount : (decision?.challenge?.amount ?? '')
      const outcome = failedOutcome(proof?.status)
      if (json) {
        const charge = {
          charged_amount: chargedAmountOf(proof),
          transaction_id: proof?.transaction_id ?? null,
        }
        const payment = reportOf(outcome, { nonce, amount, ...charge })
        const status = response?.status ?? null
        const report = { status, decision: decision ?? null, payment, receipt: null, body_file: null }
        print(harmlessJson(report, 2))
      } else if (response) {
        printError(harmlessLines(await answerWords(response)))
      }
      if (purchase.purchaseId !== undefined) {
        printError(
          'Run it again with the same --purchase-id: the same payment continues, and is charged once.',
        )
      } else if (unsaved !== undefined) {
        printError('Running it again pays again: it had no --purchase-id.')
      }
      return new CommandError(why, failureExits[outcome])
    }
  }
  if (isInterrupted || !(error instanceof Error)) return error
  if (error.name === 'TimeoutError') {
    return new CommandError(`${url} did not answer in time; use --timeout to wait longer`)
  }
  if (error instanceof TypeError) return new CommandError(`${url} could not be fetched (${causeOf(error)})`)
  const unsaved = unsavedWords(error)
  return unsaved === undefined ? error : new CommandError(unsaved)
}

/** The words for the error of a full or failing disk; undefined for another error. */
function unsavedWords(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return undefined
  return `the body could not be written (${error.message})`
}

function nonceOf(decision: PaymentDecision | undefined): string | undefined {
  return decision?.outcome === 'approved' ? decision.nonce : undefined
}

function whyNoGoods({ reason, status, location, cause }: PaymentUncertainError, url: string): string {
  switch (reason) {
    case 'no_answer':
      return `${url} did not answer the payment (${causeOf(cause)})`
    case 'aborted':
      return `${url} did not answer in time; use --timeout to wait longer`
    case 'merchant_failed':
      return `${url} accepted the payment but failed`
    case 'refused':
      return `${url} accepted the payment but returned something else`
    case 'redirected':
      return `${url} redirects to ${location}, to which the proof was not sent${status === 'captured' ? '; the goods may be there' : ''}`
    case 'incomplete':
      return `the response of ${url} was interrupted`
    default:
      return reason satisfies never
  }
}

function failedOutcome(status: ProofRecord['status'] | undefined): keyof typeof failureExits {
  if (status === 'captured') return 'paid_not_delivered'
  return status === 'expired' || status === 'voided' ? 'not_paid' : 'uncertain'
}

const failureExits = {
  paid_not_delivered: 'undelivered',
  not_paid: 'failed',
  uncertain: 'uncertain',
} as const satisfies Partial<Record<PaymentOutcome, Exit>>

/** The reason for a network error of fetch. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message
}

/** The service's record of a proof; undefined if it does not answer. */
async function lookUp(
  { payments }: Purser,
  nonce: string,
  signal?: AbortSignal,
): Promise<ProofRecord | undefined> {
  try {
    return await payments.getProof(nonce, { timeout: lookUpTimeoutMs, maxRetries: 1, signal })
  } catch {
    return undefined
  }
}
