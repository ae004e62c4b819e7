import { toAgent, toHold, toMandate, type AgentRow, type MandateRow } from '../rows.ts'
import {
  lockMandatesOf,
  readAgentsOf,
  readExpiredOf,
  readHoldsOf,
  readMandatesOf,
  readRecordedOf,
  readRequestedOf,
} from './account-statements.ts'
import {
  BatchFacts,
  latestMs,
  partiesOf,
  Questions,
  wantedDomains,
  wantedFacts,
  wantedHolds,
  type BatchCalls,
} from './batch-facts.ts'
import { readDisabled, readSellers } from './payment-statements.ts'
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
  const { proofs, requests, captures, evaluations } = calls
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
  if (requests.length > 0) {
    questions.add(readRequestedOf(accountId, requests), (row) => {
      const { environment, requested_by: callerId, request_key: idempotencyKey } = row
      if (callerId === null || idempotencyKey === null) return
      facts.addRequested({ accountId, environment, callerId, idempotencyKey }, toHold(row))
    })
  }
  const parties = partiesOf(calls)
  if (parties.length > 0) questions.add(readDisabled(parties), (row) => facts.addDisabled(row))
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
