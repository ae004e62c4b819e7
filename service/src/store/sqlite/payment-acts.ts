import { normalizeHostName } from '../../domain/host-name.ts'
import type { PolicyDecision } from '../../domain/policy.ts'
import type { Hold } from '../../domain/records.ts'
import {
  decideCapture,
  decideEvaluation,
  decideHold,
  grantHold,
  recordOfEvaluation,
  recordsOfPayment,
} from '../payment-records.ts'
import { transactionColumns, type TransactionRow } from '../rows.ts'
import type { Capture, CaptureOutcome, ProposedTransaction } from '../store.ts'
import type { AgentActs } from './agent-acts.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import { prepareHoldLookup } from './hold-lookup.ts'
import { prepareLastingFacts } from './lasting-facts.ts'
import type { MandateActs } from './mandate-acts.ts'
import type { SqliteDatabase } from './open.ts'
import type { SellerActs } from './seller-acts.ts'

/** The acts that move money: evaluate, issue a proof, capture it. */
export function preparePaymentActs(
  db: SqliteDatabase,
  acts: AuditActs & HoldActs & AgentActs & MandateActs & SellerActs,
) {
  const insertHold = db.prepare(`
    insert into holds (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro,
      currency, resource_url, status, issued_at_ms, expires_at_ms, spent_before_micro, held_before_micro)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?)`)
  const holdAmount = db.prepare(
    'update mandates set held_micro = held_micro + ? where account_id = ? and id = ?',
  )
  const { findHold } = prepareHoldLookup(db)
  const { findSeller, findMandate, recordPaidSeller, forget } = prepareLastingFacts(db, acts)
  const captureHold = db.prepare(`
    update holds set status = 'captured', transaction_id = ?, captured_by = ?, merchant_domain = ?, idempotency_key = ?
    where rowid = ? and status = 'open'`)
  const spendAmount = db.prepare(
    'update mandates set spent_micro = spent_micro + ?, held_micro = held_micro - ? where rowid = ?',
  )
  const insertTransaction = db.prepare(`
    insert into transactions (${transactionColumns.join(', ')})
    values (${transactionColumns.map(() => '?').join(', ')})`)
  let recorded: TransactionRow[] = []

  function recordTransaction(row: TransactionRow): void {
    insertTransaction.run(transactionColumns.map((column) => row[column]))
    recorded.push(row)
  }

  return {
    /** The transactions that were inserted since this was last asked, in their order. */
    takeRecorded(): readonly TransactionRow[] {
      const taken = recorded
      recorded = []
      return taken
    },

    /** Must be called when what the acts wrote was undone. */
    rolledBack(): void {
      recorded = []
      forget()
    },

    evaluate(proposal: ProposedTransaction): PolicyDecision {
      const agent = acts.findAgent({ ...proposal, id: proposal.agentId })
      const mandate = acts.findMandate({ ...proposal, id: proposal.mandateId })
      const decision = decideEvaluation(proposal, { agent, mandate })
      const seller = acts.findSellerByDomain(proposal.environment, normalizeHostName(proposal.merchantDomain))
      recordTransaction(recordOfEvaluation(proposal, decision, { seller, mandate }))
      return decision
    },

    issueProof(hold: Hold): PolicyDecision {
      acts.releaseExpired(hold.accountId, hold.mandateId, hold.issuedAtMs)
      const agent = acts.findAgent({ ...hold, id: hold.agentId })
      const mandate = acts.findMandate({ ...hold, id: hold.mandateId })
      const decision = decideHold(hold, { agent, mandate })
      if (decision.decision === 'denied' || !mandate) return decision
      const { spentBeforeMicro, heldBeforeMicro } = grantHold(hold, mandate)
      insertHold.run(
        hold.accountId,
        hold.nonce,
        hold.environment,
        hold.agentId,
        hold.mandateId,
        hold.amountText,
        hold.amountMicro,
        hold.currency,
        hold.resourceUrl,
        hold.issuedAtMs,
        hold.expiresAtMs,
        spentBeforeMicro,
        heldBeforeMicro,
      )
      holdAmount.run(hold.amountMicro, hold.accountId, hold.mandateId)
      return decision
    },

    capture(capture: Capture): CaptureOutcome {
      const { caller } = capture
      const merchantDomain = normalizeHostName(capture.merchantDomain)
      const found = findHold(capture)
      const decision = decideCapture(capture, {
        hold: found,
        mandate: found && findMandate(found.account_id, found.mandate_id),
        seller: findSeller(caller.environment, merchantDomain),
      })
      if ('outcome' in decision) return decision.outcome
      const { hold, mandate, seller } = decision
      const payment = recordsOfPayment(capture, hold, seller)
      const { transactionId, idempotencyKey } = capture
      const { changes } = captureHold.run(
        transactionId,
        caller.keyId,
        merchantDomain,
        idempotencyKey,
        hold.rowid,
      ) // 5
      if (changes !== 1) return { outcome: 'failed', reason: 'nonce_reused' }
      spendAmount.run(hold.amount_micro, hold.amount_micro, mandate.rowid) // 6
      for (const row of payment.transactions) recordTransaction(row) // 7
      recordPaidSeller(mandate, hold.mandate_id, merchantDomain)
      acts.recordEvent(payment.event) // 8
      return { outcome: 'captured', transactionId }
    },
  }
}
