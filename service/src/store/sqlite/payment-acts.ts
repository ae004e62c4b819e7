import { auditEvent } from '../../domain/audit.ts'
import { normalizeHostName } from '../../domain/host-name.ts'
import type { PolicyDecision } from '../../domain/policy.ts'
import type { Caller, Hold, Mandate, Seller } from '../../domain/records.ts'
import { toHold, type HoldRow, type TransactionRow } from '../rows.ts'
import type { Capture, CaptureAttempt, CaptureOutcome, Decide, ProposedTransaction } from '../store.ts'
import type { AgentActs } from './agent-acts.ts'
import type { AuditActs } from './audit-acts.ts'
import type { HoldActs } from './hold-acts.ts'
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
      currency, resource_url, status, issued_at_ms, expires_at_ms)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)`)
  const holdAmount = db.prepare(
    'update mandates set held_micro = held_micro + ? where account_id = ? and id = ?',
  )
  const selectHold = db.prepare<[string, string, string], HoldRow>(
    'select * from holds where account_id = ? and nonce = ? and environment = ?',
  )
  const selectAccountOf = db
    .prepare<[string], string>('select account_id from record_accounts where id = ?')
    .pluck()
  const captureHold = db.prepare(`
    update holds set status = 'captured', transaction_id = ?, captured_by = ?, merchant_domain = ?, idempotency_key = ?
    where account_id = ? and nonce = ? and status = 'open'`)
  const spendAmount = db.prepare(`
    update mandates set spent_micro = spent_micro + ?, held_micro = held_micro - ?
    where account_id = ? and id = ?`)
  const insertTransaction = db.prepare<TransactionRow>(`
    insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
      amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, category,
      reason_code, reason_detail, nonce, created_at_ms)
    values (@account_id, @id, @environment, @side, @status, @agent_id, @mandate_id, @amount_text,
      @amount_micro, @currency, @resource_url, @merchant_domain, @seller_account_id, @seller_id, @category,
      @reason_code, @reason_detail, @nonce, @created_at_ms)`)
  const recordPaidSeller = db.prepare(`
    insert into paid_sellers (account_id, mandate_id, merchant_domain) values (?, ?, ?)
    on conflict do nothing`)

  function findHold(
    attempt: CaptureAttempt,
  ): (Hold & Pick<HoldRow, 'captured_by' | 'merchant_domain' | 'idempotency_key'>) | undefined {
    const { caller, nonce, mandateId } = attempt
    const row =
      selectHold.get(caller.accountId, nonce, caller.environment) ??
      selectHold.get(selectAccountOf.get(mandateId) ?? '', nonce, caller.environment)
    return row && { ...row, ...toHold(row) }
  }

  /** The same key sending the same proof with the same idempotency key, for the same merchant. */
  function isRetry(hold: NonNullable<ReturnType<typeof findHold>>, attempt: CaptureAttempt): boolean {
    return (
      attempt.idempotencyKey !== null &&
      hold.captured_by === attempt.caller.keyId &&
      hold.idempotency_key === attempt.idempotencyKey &&
      hold.merchant_domain === normalizeHostName(attempt.merchantDomain)
    )
  }

  function recordPayment(capture: Capture, hold: Hold, seller: Seller | undefined): void {
    const merchantDomain = normalizeHostName(capture.merchantDomain)
    const row: TransactionRow = {
      account_id: hold.accountId,
      id: capture.transactionId,
      environment: hold.environment,
      side: 'payer',
      status: 'paid',
      agent_id: hold.agentId,
      mandate_id: hold.mandateId,
      amount_text: hold.amountText,
      amount_micro: hold.amountMicro,
      currency: hold.currency,
      resource_url: hold.resourceUrl,
      merchant_domain: merchantDomain,
      seller_account_id: seller?.accountId ?? null,
      seller_id: seller?.id ?? null,
      category: null,
      reason_code: null,
      reason_detail: null,
      nonce: hold.nonce,
      created_at_ms: capture.nowMs,
    }
    insertTransaction.run(row)
    if (seller && seller.accountId !== hold.accountId) {
      insertTransaction.run({ ...row, account_id: seller.accountId, side: 'payee' })
    }
    recordPaidSeller.run(hold.accountId, hold.mandateId, merchantDomain)
    acts.recordEvent(
      auditEvent(capture.caller, hold, {
        id: capture.eventId,
        type: 'payment.verified',
        subjectId: capture.transactionId,
        data: {
          agent_id: hold.agentId,
          mandate_id: hold.mandateId,
          amount: hold.amountText,
          currency: hold.currency,
          merchant_domain: merchantDomain,
          nonce: hold.nonce,
        },
        atMs: capture.nowMs,
      }),
    )
  }

  return {
    evaluate(proposal: ProposedTransaction, decide: Decide): PolicyDecision {
      const agent = acts.findAgent({ ...proposal, id: proposal.agentId })
      const mandate = acts.findMandate({ ...proposal, id: proposal.mandateId })
      const decision = decide({ agent, mandate })
      const merchantDomain = normalizeHostName(proposal.merchantDomain)
      const seller = visibleSeller(acts.findSellerByDomain(proposal.environment, merchantDomain), [proposal])
      insertTransaction.run({
        account_id: proposal.accountId,
        id: proposal.id,
        environment: proposal.environment,
        side: 'payer',
        status: decision.decision,
        agent_id: proposal.agentId,
        mandate_id: proposal.mandateId,
        amount_text: proposal.amountText,
        amount_micro: proposal.amountMicro,
        currency: proposal.currency,
        resource_url: proposal.resourceUrl,
        merchant_domain: merchantDomain,
        seller_account_id: seller?.accountId ?? null,
        seller_id: seller?.id ?? null,
        category: proposal.category,
        reason_code: decision.decision === 'approved' ? 'within_policy' : decision.code,
        reason_detail: decision.decision === 'approved' ? null : decision.detail,
        nonce: null,
        created_at_ms: proposal.createdAtMs,
      })
      return decision
    },

    issueProof(hold: Hold, decide: Decide): PolicyDecision {
      acts.releaseExpired(hold.accountId, hold.mandateId, hold.issuedAtMs)
      const agent = acts.findAgent({ ...hold, id: hold.agentId })
      const mandate = acts.findMandate({ ...hold, id: hold.mandateId })
      const decision = decide({ agent, mandate })
      if (decision.decision === 'denied') return decision
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
      )
      holdAmount.run(hold.amountMicro, hold.accountId, hold.mandateId)
      return decision
    },

    capture(capture: Capture): CaptureOutcome {
      const { caller, nonce, nowMs } = capture
      const hold = findHold(capture)
      const mandate = hold && acts.findMandate({ ...hold, id: hold.mandateId })
      // A signed proof without its hold is one of a store that was set back: nothing is free for it.
      if (!hold || !mandate) return { outcome: 'failed', reason: 'proof_expired' }
      if (hold.transactionId !== null && isRetry(hold, capture)) {
        return { outcome: 'replayed', transactionId: hold.transactionId }
      }
      const merchantDomain = normalizeHostName(capture.merchantDomain)
      const seller = acts.findSellerByDomain(caller.environment, merchantDomain)
      const refusal = capture.checkCollection({
        caller,
        mandate,
        seller,
        merchantDomain,
        resourceUrl: hold.resourceUrl,
      })
      if (refusal) return { outcome: 'refused', code: refusal }
      if (hold.status === 'captured') return { outcome: 'failed', reason: 'nonce_reused' } // 4
      if (hold.status !== 'open' || !(hold.expiresAtMs > nowMs)) {
        return { outcome: 'failed', reason: 'proof_expired' }
      }
      const { transactionId, idempotencyKey } = capture
      const captured = captureHold.run(
        transactionId,
        caller.keyId,
        merchantDomain,
        idempotencyKey,
        hold.accountId,
        nonce,
      ) // 5
      if (captured.changes !== 1) return { outcome: 'failed', reason: 'nonce_reused' }
      spendAmount.run(hold.amountMicro, hold.amountMicro, hold.accountId, hold.mandateId) // 6
      recordPayment(capture, hold, visibleSeller(seller, [hold, caller])) // 7, 8
      return { outcome: 'captured', transactionId }
    },

    findCapture(attempt: CaptureAttempt): string | undefined {
      const hold = findHold(attempt)
      return hold && isRetry(hold, attempt) ? (hold.transactionId ?? undefined) : undefined
    },
  }
}

/** The seller, if one of the parties owns it: a stranger's seller is nobody's business. */
function visibleSeller(
  seller: Seller | undefined,
  parties: readonly Pick<Caller | Mandate, 'accountId'>[],
): Seller | undefined {
  return parties.some(({ accountId }) => accountId === seller?.accountId) ? seller : undefined
}
