import type { Agent, AuditEvent, Scope } from '../../domain/records.ts'
import { StoreUnavailableError, type ProofOutcome, type RecordKey } from '../store.ts'
import type { Ledger } from './ledger.ts'
import { revokeAgent as revokeAgentAtFirst } from './operations/agents.ts'
import { recordStrayDenial } from './operations/denials.ts'
import { issueProof as issue, type ProofCall } from './operations/payments.ts'
import { listMandatesOf, type MandatePage } from './operations/mandates.ts'
import { voidPayments, voidPaymentsOfRevoked, type VoidStep } from './operations/voids.ts'
import type { MandateRow } from './tables.ts'

// Operations that take several short transactions.

/** Issues a proof, or records its denial. */
export async function issueProof(ledger: Pick<Ledger, 'run'>, call: ProofCall): Promise<ProofOutcome> {
  const outcome = await ledger.run(issue, call)
  if (outcome.decision !== 'denied') return outcome
  const { isStray, ...denial } = outcome
  if (isStray) await ledger.run(recordStrayDenial, { hold: call.hold, denial })
  return denial
}

/**
 * How long a revocation waits for one mandate. Its payments can no longer be captured; if the mandate is locked for longer, the
 * sweep ends them.
 */
const revocationPatienceMs = 1_000

/** Revokes an agent and ends its open payments: none is captured after the answer. */
export async function revokeAgent(
  ledger: Pick<Ledger, 'run'>,
  agent: RecordKey,
  event: AuditEvent,
): Promise<Agent | 'not_found'> {
  const revoked = await ledger.run(revokeAgentAtFirst, [agent, event])
  if (revoked === 'not_found') return revoked
  const of = { accountId: agent.accountId, agentId: agent.id }
  await forEachMandate(ledger, of, async ({ accountId, id: mandateId, openPayments }) => {
    if (openPayments === 0) return
    const step = { accountId, mandateId, event }
    await ledger
      .run(voidPaymentsOfRevoked, step, { patienceMs: revocationPatienceMs })
      .catch(ignoreUnavailable)
  }).catch(ignoreUnavailable)
  return revoked
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) throw error
}

/** Ends the open payments of a scope. */
export async function voidAll(
  ledger: Pick<Ledger, 'run'>,
  scope: Scope,
  nextEvent: () => AuditEvent,
): Promise<void> {
  let afterId: string | undefined = ''
  while (afterId !== undefined) {
    const step: VoidStep = { scope, afterId, event: nextEvent() }
    afterId = await ledger.run(voidPayments, step)
  }
}

/** Max mandates in progress: up to this many locked ones delay no other. */
const mandatesAtOnce = 16

/** How many mandates are read in one step. */
const pageSize = 100

/** Runs `work` for each mandate of a scope or of an agent, several at a time. */
export async function forEachMandate(
  ledger: Pick<Ledger, 'run'>,
  of: MandatePage['of'],
  work: (mandate: MandateRow) => Promise<void>,
): Promise<void> {
  const failures = await workOn(pagesOfMandates(ledger, of), () => mandatesAtOnce, work)
  if (failures.length > 0) throw failures[0]
}

async function* pagesOfMandates(
  ledger: Pick<Ledger, 'run'>,
  of: MandatePage['of'],
): AsyncGenerator<readonly MandateRow[]> {
  let afterId: string | undefined = ''
  while (afterId !== undefined) {
    const page: readonly MandateRow[] = await ledger.run(listMandatesOf, { of, afterId, limit: pageSize })
    yield page
    afterId = page.length < pageSize ? undefined : page.at(-1)?.id
  }
}

/** Works on several items at once, which may share transactions; resolves to the errors, once all other work is done. */
export async function workOn<Item>(
  pages: Iterable<readonly Item[]> | AsyncIterable<readonly Item[]>,
  maxAtOnce: () => number,
  work: (item: Item) => Promise<void>,
): Promise<unknown[]> {
  const failures: unknown[] = []
  let inProgress = 0
  let onEnd: (() => void) | undefined
  const untilFewer = async (than: () => number) => {
    while (inProgress >= than()) await new Promise<void>((resolve) => (onEnd = resolve))
  }
  const start = (item: Item) => {
    inProgress += 1
    void work(item)
      .catch((error: unknown) => failures.push(error))
      .finally(() => {
        inProgress -= 1
        onEnd?.()
      })
  }
  for await (const page of pages) {
    for (const item of page) {
      if (inProgress >= maxAtOnce()) await untilFewer(maxAtOnce)
      start(item)
    }
  }
  await untilFewer(() => 1)
  return failures
}
