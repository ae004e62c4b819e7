import type { AuditEvent } from '../../domain/records.ts'
import type { ProofOutcome } from '../store.ts'
import type { Ledger } from './ledger.ts'
import { revokeAgent as revokeAgentAtFirst, type AgentRevocation } from './operations/agents.ts'
import { recordStrayDenial, type DenialIds } from './operations/denials.ts'
import { issueProof as issue, type ProofCall } from './operations/payments.ts'
import { voidPayments, type VoidStep } from './operations/voids.ts'
import type { AgentRow } from './tables.ts'

// What takes several transactions, each of them short.

/** Issues a proof, or records its denial. */
export async function issueProof(
  ledger: Pick<Ledger, 'run'>,
  call: ProofCall & { readonly denialIds: DenialIds },
): Promise<ProofOutcome> {
  const outcome = await ledger.run(issue, call)
  if (outcome.decision !== 'denied') return outcome
  const { isStray, ...denial } = outcome
  const { hold, denialIds: ids } = call
  if (isStray) await ledger.run(recordStrayDenial, { hold, denial, ids })
  return denial
}

/** Revokes an agent and ends its open payments: none is captured after the answer. */
export async function revokeAgent(
  ledger: Pick<Ledger, 'run'>,
  call: AgentRevocation,
): Promise<AgentRow | 'not_found'> {
  const revoked = await ledger.run(revokeAgentAtFirst, call)
  if (revoked === 'not_found') return revoked
  const { accountId, id: agentId } = call.agent
  const { agent, endedUpToId } = revoked
  if (endedUpToId !== undefined) {
    const rest = { of: { accountId, agentId }, afterId: endedUpToId, isContinued: true }
    await voidAll(ledger, rest, () => call.event)
  }
  return agent
}

/** Ends the open payments of a scope or of an agent, those of the mandates after one. */
export async function voidAll(
  ledger: Pick<Ledger, 'run'>,
  { of, afterId, isContinued = false }: Omit<VoidStep, 'event'>,
  nextEvent: () => AuditEvent,
): Promise<void> {
  let lastId: string | undefined = afterId
  while (lastId !== undefined) {
    const progress: { readonly lastId: string | undefined } = await ledger.run(voidPayments, {
      of,
      afterId: lastId,
      isContinued,
      event: nextEvent(),
    })
    lastId = progress.lastId
  }
}
