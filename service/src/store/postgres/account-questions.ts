import { toAgent, toMandate, type AgentRow, type MandateRow } from '../rows.ts'
import {
  lockMandatesOf,
  readAgentsOf,
  readExpiredOf,
  readHoldsOf,
  readMandatesOf,
  readRecordedOf,
} from './account-statements.ts'
import {
  BatchFacts,
  latestMs,
  Questions,
  wantedDomains,
  wantedFacts,
  wantedHolds,
  type BatchCalls,
} from './batch-facts.ts'
import { readSellers } from './payment-statements.ts'
import type { Transaction } from './transaction.ts'

/**
 * Locks the mandates of a batch of one account, and reads all that it looks at, in one round trip. Only
 * the directory of sellers is read besides the rows of the account.
 */
export async function readAccountFacts(
  transaction: Transaction,
  accountId: string,
  calls: BatchCalls,
): Promise<BatchFacts> {
  const { proofs, captures, evaluations } = calls
  const facts = new BatchFacts()
  const questions = new Questions()
  const agents = new Map<string, AgentRow>()
  const mandates = new Map<string, MandateRow>()

  const locked = idsOf([...proofs, ...captures], ({ mandateId }) => mandateId)
  if (locked.length > 0) {
    questions.add(lockMandatesOf(accountId, locked), (row) => {
      mandates.set(row.id, row)
      facts.addLocked(row)
    })
  }
  const wanted = wantedFacts(calls)
  if (wanted.length > 0) {
    const agentIds = idsOf(wanted, ({ agentId }) => agentId)
    questions.add(readAgentsOf(accountId, agentIds), (row) => agents.set(row.id, row))
  }
  const read = idsOf(evaluations, ({ mandateId }) => mandateId).filter((id) => !locked.includes(id))
  if (read.length > 0) {
    questions.add(readMandatesOf(accountId, read), (row) => mandates.set(row.id, row))
  }
  if (proofs.length > 0) {
    const ofProofs = idsOf(proofs, ({ mandateId }) => mandateId)
    questions.add(readExpiredOf(accountId, ofProofs, { nowMs: latestMs(calls) }), (row) =>
      facts.addExpired(row),
    )
  }
  const holds = wantedHolds(calls, transaction)
  if (holds.length > 0) {
    const nonces = idsOf(holds, ({ nonce }) => nonce)
    questions.add(readHoldsOf(accountId, nonces), (row) => {
      for (const call of holds) {
        if (call.nonce === row.nonce && call.environment === row.environment) facts.addHold(call, row)
      }
    })
  }
  const domains = wantedDomains(calls)
  if (domains.length > 0) questions.add(readSellers(domains), (row) => facts.addSeller(row))
  if (transaction.isRerun && evaluations.length > 0) {
    const ids = idsOf(evaluations, ({ id }) => id)
    questions.add(readRecordedOf(accountId, ids), (row) => facts.addRecorded(row))
  }

  await questions.ask(transaction)
  for (const call of wanted) {
    const agent = agents.get(call.agentId)
    if (agent?.environment === call.environment) facts.addAgent(call, toAgent(agent))
    const mandate = mandates.get(call.mandateId)
    if (mandate?.environment === call.environment) facts.addMandate(call, toMandate(mandate))
  }
  return facts
}

function idsOf<Call>(calls: readonly Call[], idOf: (call: Call) => string): string[] {
  return [...new Set(calls.map(idOf))]
}
