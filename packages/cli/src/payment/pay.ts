import {
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
import type { Surroundings } from '../surroundings.ts'
import { openDelivery, type Delivery } from './delivery.ts'
import { purchasesFolder } from './purchases-folder.ts'
import { decisionWords, paidWords, proofWords } from './words.ts'

/** What is bought, and with what. */
interface Purchase {
  readonly url: string
  readonly init: RequestInit
  readonly client: Purser
  readonly mandate: Pick<Mandate, 'id' | 'agent_id'>
  /** By which a purchase that was begun before goes on. */
  readonly purchaseId: string | undefined
  readonly timeoutMs: number
}

interface PayOptions {
  readonly maxAmount?: string | undefined
  readonly output?: string | undefined
  readonly json?: true
}

/** Fetches and pays, delivers the body, and tells on standard error what was decided and paid. */
export async function pay(
  purchase: Purchase,
  { maxAmount, output, json }: PayOptions,
  surroundings: Surroundings,
): Promise<void> {
  // Before anything is paid: what cannot be written must not be bought.
  const delivery = openDelivery(output, surroundings)
  let decision: PaymentDecision | undefined
  try {
    const { client, mandate, url, init, purchaseId, timeoutMs } = purchase
    const purchases =
      purchaseId === undefined ? undefined : await openPurchaseFiles(purchasesFolder(surroundings))
    const payingFetch = wrapFetchWithPayment(fetch, {
      client,
      agentId: mandate.agent_id,
      mandateId: mandate.id,
      maxAmount,
      purchases,
      random: surroundings.random,
      onDecision: (made) => {
        decision = made
        if (!json) surroundings.printError(harmlessLines(decisionWords(made, maxAmount)))
      },
    })
    const signal = AbortSignal.any([surroundings.interruption(), AbortSignal.timeout(timeoutMs)])
    const answer = await payingFetch(url, { ...init, signal, purchaseId })
    await settle({ answer, delivery, json }, surroundings)
  } catch (error) {
    delivery.discard()
    throw await explainFailure(error, { decision, purchase, json }, surroundings)
  }
}

/** What `--json` says of a payment whose proof was shown. */
type PaymentOutcome = 'paid' | 'paid_not_delivered' | 'not_paid' | 'uncertain'

function reportOf(outcome: PaymentOutcome, { nonce, amount, transaction_id }: PaymentFacts) {
  return { outcome, nonce, amount, transaction_id }
}

type PaymentFacts = Pick<PaymentResult, 'nonce' | 'amount' | 'transaction_id'>

interface Settlement {
  readonly answer: Response
  readonly delivery: Delivery
  readonly json: true | undefined
}

async function settle({ answer, delivery, json }: Settlement, surroundings: Surroundings): Promise<void> {
  const decision = paymentDecisionOf(answer)
  const result = paymentResultOf(answer)
  const place = answer.ok ? await delivery.take(answer.body) : undefined
  const { printError, print, exitWith } = surroundings
  if (result?.status === 'unknown') printError(harmlessLines(proofWords(undefined, result, surroundings)))
  if (result?.status === 'captured' && !json) printError(harmlessLines(paidWords(result, decision)))
  if (place !== undefined && !json) printError(`The body is in ${place}.`)
  if (!answer.ok) {
    delivery.discard()
    if (!json) printError(harmlessLines(await refusalWords(answer, decision)))
  }
  if (json) {
    const { status } = answer
    const payment = result
      ? reportOf(result.status === 'captured' || answer.ok ? 'paid' : 'not_paid', result)
      : null
    const receipt = receiptOf(result, decision)
    const report = { status, decision: decision ?? null, payment, receipt, body_file: place ?? null }
    print(harmlessJson(report, 2))
    if (!answer.ok) await answer.body?.cancel()
  }
  if (!answer.ok) exitWith(isDenied(decision) ? exitCodes.denied : exitCodes.failed)
}

function isDenied(decision: PaymentDecision | undefined): boolean {
  return (
    decision?.outcome === 'denied' || (decision?.outcome === 'skipped' && decision.why === 'over_max_amount')
  )
}

/** The merchant's receipt of what was paid; where it gives none, what the service says; null when nothing was paid. */
function receiptOf(
  result: PaymentResult | undefined,
  decision: PaymentDecision | undefined,
): PaymentReceipt | null {
  if (result?.status !== 'captured' || result.transaction_id === null) return null
  const { transaction_id, amount, nonce, receipt } = result
  const merchant_domain = decision?.challenge?.merchant_domain ?? ''
  return receipt ?? { transaction_id, amount, merchant_domain, nonce }
}

/** How much of an answer that is no success is told. */
const toldCharacters = 2_000

async function refusalWords(answer: Response, decision: PaymentDecision | undefined): Promise<string> {
  // The challenge is told already, by the decision.
  if (answer.status === 402 && decision && decision.outcome !== 'approved') {
    await answer.body?.cancel()
    return 'Nothing was paid.'
  }
  return answerWords(answer)
}

/** What a merchant answers instead of the goods. */
async function answerWords(answer: Response): Promise<string> {
  const text = await beginningOf(answer)
  return [`The merchant answers ${answer.status} ${answer.statusText}`.trimEnd(), text]
    .filter(Boolean)
    .join('\n')
}

/** The beginning of an answer that may have no end, as far as it comes in time. */
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
    // What came before the connection broke, or the time was over, is told.
  } finally {
    void reader.cancel().catch(() => {})
  }
  return text.slice(0, toldCharacters)
}

/** How long the service is asked what became of a proof, each time. */
const lookUpTimeoutMs = 5_000

interface Failed {
  readonly decision: PaymentDecision | undefined
  readonly purchase: Purchase
  readonly json: true | undefined
}

/** The failure, with what became of the money where a proof was out by then. */
async function explainFailure(
  error: unknown,
  { decision, purchase, json }: Failed,
  surroundings: Surroundings,
): Promise<unknown> {
  const { url, client } = purchase
  const { interruption, print, printError } = surroundings
  const isInterrupted = interruption().aborted
  const nonce = error instanceof PaymentUncertainError ? error.nonce : nonceOf(decision)
  if (nonce !== undefined) {
    // Whoever pressed Ctrl-C is not kept waiting.
    const proof = isInterrupted ? undefined : await lookUp(client, nonce)
    printError(harmlessLines(proofWords(proof, { nonce }, surroundings)))
    if (isInterrupted) return interruption().reason
    if (error instanceof PaymentUncertainError) {
      const { response, amount } = error
      const outcome = failedOutcome(proof?.status)
      if (json) {
        const payment = reportOf(outcome, { nonce, amount, transaction_id: proof?.transaction_id ?? null })
        const status = response?.status ?? null
        const report = { status, decision: decision ?? null, payment, receipt: null, body_file: null }
        print(harmlessJson(report, 2))
      } else if (response) {
        printError(harmlessLines(await answerWords(response)))
      }
      if (purchase.purchaseId !== undefined) {
        printError('Run it again with the same --purchase-id: the same payment goes on, and is charged once.')
      }
      return new CommandError(whyNoGoods(error, url), failureExits[outcome])
    }
  }
  if (isInterrupted || !(error instanceof Error)) return error
  if (error.name === 'TimeoutError') {
    return new CommandError(`${url} did not answer in time; --timeout gives it more`)
  }
  if (error instanceof TypeError) return new CommandError(`${url} cannot be fetched (${causeOf(error)})`)
  // What a full or failing disk answers.
  if ('code' in error && 'syscall' in error)
    return new CommandError(`the body cannot be written (${error.message})`)
  return error
}

function nonceOf(decision: PaymentDecision | undefined): string | undefined {
  return decision?.outcome === 'approved' ? decision.nonce : undefined
}

function whyNoGoods({ reason, location, cause }: PaymentUncertainError, url: string): string {
  switch (reason) {
    case 'no_answer':
      return `${url} did not answer the payment (${causeOf(cause)})`
    case 'aborted':
      return `${url} did not answer in time; --timeout gives it more`
    case 'merchant_failed':
      return `${url} took the payment and failed`
    case 'refused':
      return `${url} took the payment and gave something else`
    case 'redirected':
      return `${url} redirects to ${location}, where the proof was not sent`
    case 'incomplete':
      return `what ${url} gave broke off`
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

/** The reason behind what fetch throws when there is no way to the merchant. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message
}

/** What the service says of a proof; undefined when it does not answer. */
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
