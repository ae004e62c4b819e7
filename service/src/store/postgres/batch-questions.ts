import type { Agent, Hold } from '../../domain/records.ts'
import { toAgent, toHold, toMandate, type MandateRow } from '../rows.ts'
import {
  BatchFacts,
  distinct,
  latestMs,
  partiesOf,
  Questions,
  wantedDomains,
  wantedFacts,
  wantedHolds,
  type BatchCalls,
  type LocatedAttempt,
} from './batch-facts.ts'
import {
  lockMandates,
  readDisabled,
  readExpired,
  readFacts,
  readHolds,
  readRecorded,
  readRequested,
  readSellers,
  type FactsRow,
  type WantedFacts,
  type WantedMandate,
} from './payment-statements.ts'
import type { Transaction } from './transaction.ts'

/** Locks the mandates of a batch, whosever they are, and reads all that it looks at, in one round trip. */
export async function readBatchFacts(transaction: Transaction, calls: BatchCalls): Promise<BatchFacts> {
  const { proofs, requests, captures, evaluations } = calls
  const facts = new BatchFacts()
  const questions = new Questions()

  const mandates = distinct([...proofs, ...captures].map(mandateOf), lockKey)
  if (mandates.length > 0) questions.add(lockMandates(mandates), (row) => facts.addLocked(row))
  const wanted = wantedFacts(calls)
  if (wanted.length > 0) {
    questions.add(readFacts(wanted), (row) => {
      const call = wanted[row.wanted]
      if (!call) return
      if (row.agent_found !== null) facts.addAgent(call, agentOf(row, row.agent_found, call))
      if (row.id !== null) facts.addMandate(call, toMandate(row as MandateRow))
    })
  }
  if (proofs.length > 0) {
    const ofProofs = distinct(proofs.map(mandateOf), lockKey)
    questions.add(readExpired(ofProofs, latestMs(calls)), (row) => facts.addExpired(row))
  }
  const holds = wantedHolds(calls, transaction)
  if (holds.length > 0) {
    questions.add(readHolds(holds), ({ wanted: position, ...row }) => {
      const call = holds[position]
      if (call) facts.addHold(call, row)
    })
  }
  if (requests.length > 0) {
    questions.add(readRequested(requests), ({ wanted: position, ...row }) => {
      const request = requests[position]
      if (request) facts.addRequested(request, toHold(row))
    })
  }
  const parties = partiesOf(calls)
  if (parties.length > 0) questions.add(readDisabled(parties), (row) => facts.addDisabled(row))
  const domains = wantedDomains(calls)
  if (domains.length > 0) questions.add(readSellers(domains), (row) => facts.addSeller(row))
  if (transaction.isRerun && evaluations.length > 0) {
    questions.add(readRecorded(evaluations), (row) => facts.addRecorded(row))
  }

  await questions.ask(transaction)
  return facts
}

function mandateOf({ accountId, mandateId }: Hold | LocatedAttempt): WantedMandate {
  return { accountId, id: mandateId }
}

function lockKey({ accountId, id }: WantedMandate): string {
  return `${accountId} ${id}`
}

function agentOf(row: FactsRow, id: string, { accountId, environment }: WantedFacts): Agent {
  return toAgent({
    account_id: accountId,
    environment,
    id,
    name: row.agent_name,
    description: row.agent_description,
    capabilities: row.agent_capabilities,
    status: row.agent_status,
    created_at_ms: row.agent_created_at_ms,
    revoked_at_ms: row.agent_revoked_at_ms,
  })
}
