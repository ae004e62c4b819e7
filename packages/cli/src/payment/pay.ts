import {
  paymentDecisionOf,
  wrapFetchWithPayment,
  type Mandate,
  type PaymentDecision,
  type ProofRecord,
  type Purser,
} from '@purser/client'

import { CommandError, exitCodes } from '../exit-codes.ts'
import { harmlessJson, harmlessLines } from '../output/harmless.ts'
import type { Surroundings } from '../surroundings.ts'
import { openDelivery, type Delivery } from './delivery.ts'
import { readReceipt, type Receipt } from './receipt.ts'
import { decisionWords, proofWords, receiptWords } from './words.ts'

/** What is bought, and with what. */
interface Purchase {
  readonly url: string
  readonly init: RequestInit
  readonly client: Purser
  readonly mandate: Pick<Mandate, 'id' | 'agent_id'>
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
    const { client, mandate, url, init, timeoutMs } = purchase
    const payingFetch = wrapFetchWithPayment(fetch, {
      client,
      agentId: mandate.agent_id,
      mandateId: mandate.id,
      maxAmount,
      onDecision: (made) => {
        decision = made
        if (!json) surroundings.printError(harmlessLines(decisionWords(made, maxAmount)))
      },
    })
    const signal = AbortSignal.any([surroundings.interruption(), AbortSignal.timeout(timeoutMs)])
    const answer = await payingFetch(url, { ...init, signal })
    await settle({ answer, delivery, client, json }, surroundings)
  } catch (error) {
    delivery.discard()
    throw await explainFailure(error, decision, purchase, surroundings)
  }
}

interface Settlement {
  readonly answer: Response
  readonly delivery: Delivery
  readonly client: Purser
  readonly json: true | undefined
}

async function settle(
  { answer, delivery, client, json }: Settlement,
  surroundings: Surroundings,
): Promise<void> {
  const decision = paymentDecisionOf(answer)
  // First of all: what is paid for must not be lost, whatever becomes of the questions that follow.
  const place = answer.ok ? await delivery.take(answer.body) : undefined
  const receipt = await findReceipt(answer, decision, client, surroundings)
  const { printError, print, exitWith } = surroundings
  if (receipt && !json) printError(harmlessLines(receiptWords(receipt)))
  if (receipt === undefined && decision?.outcome === 'approved') {
    printError(harmlessLines(proofWords(undefined, decision, surroundings)))
  }
  if (place !== undefined && !json) printError(`The body is in ${place}.`)
  if (!answer.ok) {
    delivery.discard()
    if (!json) printError(harmlessLines(await refusalWords(answer, decision)))
  }
  if (json) {
    print(
      harmlessJson(
        {
          status: answer.status,
          decision: decision ?? null,
          receipt: receipt ?? null,
          body_file: place ?? null,
        },
        2,
      ),
    )
    if (!answer.ok) await answer.body?.cancel()
  }
  if (!answer.ok) exitWith(isDenied(decision) ? exitCodes.denied : exitCodes.failed)
}

function isDenied(decision: PaymentDecision | undefined): boolean {
  return (
    decision?.outcome === 'denied' || (decision?.outcome === 'skipped' && decision.why === 'over_max_amount')
  )
}

/**
 * The merchant's receipt of what was paid; where it gives none, what the service says of the proof. Null when nothing was
 * paid, undefined when nobody tells.
 */
async function findReceipt(
  answer: Response,
  decision: PaymentDecision | undefined,
  client: Purser,
  { interruption }: Pick<Surroundings, 'interruption'>,
): Promise<Receipt | null | undefined> {
  if (decision?.outcome !== 'approved') return null
  const { challenge, nonce } = decision
  const receipt = readReceipt(answer.headers)
  if (receipt) return receipt
  const proof = await lookUp(client, nonce, interruption())
  if (!proof) return undefined
  const { transaction_id: id } = proof
  return id === null
    ? null
    : { transaction_id: id, amount: challenge.amount, merchant_domain: challenge.merchant_domain, nonce }
}

/** How much of an answer that is no success is told. */
const toldCharacters = 2_000

async function refusalWords(answer: Response, decision: PaymentDecision | undefined): Promise<string> {
  // The challenge is told already, by the decision.
  if (answer.status === 402 && decision && decision.outcome !== 'approved') {
    await answer.body?.cancel()
    return 'Nothing was paid.'
  }
  const text = await answer.text()
  return [
    `The merchant answers ${answer.status} ${answer.statusText}`.trimEnd(),
    text.slice(0, toldCharacters),
  ]
    .filter(Boolean)
    .join('\n')
}

/** How long the service is asked what became of a proof, each time. */
const lookUpTimeoutMs = 5_000

/** The failure, with what became of the money where a proof was out by then. */
async function explainFailure(
  error: unknown,
  decision: PaymentDecision | undefined,
  { url, client }: Purchase,
  surroundings: Surroundings,
): Promise<unknown> {
  const { interruption, printError } = surroundings
  const isInterrupted = interruption().aborted
  if (decision?.outcome === 'approved') {
    // Whoever pressed Ctrl-C is not kept waiting.
    const proof = isInterrupted ? undefined : await lookUp(client, decision.nonce)
    printError(harmlessLines(proofWords(proof, decision, surroundings)))
  }
  if (isInterrupted || !(error instanceof Error)) return error
  if (error.name === 'TimeoutError') {
    return new CommandError(`${url} did not answer in time; --timeout gives it more`)
  }
  // What fetch throws when there is no way to the merchant; the reason is its cause.
  if (error instanceof TypeError) {
    const cause = error.cause instanceof Error ? error.cause.message : error.message
    return new CommandError(`${url} cannot be fetched (${cause})`)
  }
  // What a full or failing disk answers.
  if ('code' in error && 'syscall' in error)
    return new CommandError(`the body cannot be written (${error.message})`)
  return error
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
