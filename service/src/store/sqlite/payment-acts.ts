import { normalizeHostName } from '../../domain/host-name.ts'
import type { PolicyDecision } from '../../domain/policy.ts'
import type { Hold, RegisteredSeller } from '../../domain/records.ts'
import {
  decideCapture,
  decideEvaluation,
  decideHold,
  decideLate,
  decideRepeat,
  grantHold,
  recordOfEvaluation,
} from '../payment-records.ts'
import { toHold, transactionColumns, type HoldRow, type TransactionRow } from '../rows.ts'
import type {
  Capture,
  CaptureOutcome,
  LateAttempt,
  LateOutcome,
  ProofOutcome,
  ProposedTransaction,
  RequestKey,
} from '../store.ts'
import type { AccountActs } from './account-acts.ts'
import type { RecordedActivity } from './activity-acts.ts'
import type { AgentActs } from './agent-acts.ts'
import type { HoldActs } from './hold-acts.ts'
import { prepareHoldLookup, type FoundHold } from './hold-lookup.ts'
import { prepareLastingFacts } from './lasting-facts.ts'
import type { MandateActs } from './mandate-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'
import type { SellerActs } from './seller-acts.ts'
import type { ListedTransaction } from './transaction-lists.ts'

/** About as much as a capture writes into a hold: two ids, a domain, and often an idempotency key. */
const reservedBytes = 112

/** A transaction that was inserted, as far as the lists and the sums behind the payments must know it. */
export type RecordedTransaction = ListedTransaction & RecordedActivity

/** What is different in the payee's copy of a payment. */
const payeesOwn: Partial<Record<keyof TransactionRow, string>> = {
  account_id: 'seller_account_id',
  side: "'payee'",
}

/** The acts that move money: evaluate, issue a proof, capture it. */
export function preparePaymentActs(
  db: SqliteDatabase,
  acts: HoldActs & AgentActs & MandateActs & SellerActs & Pick<AccountActs, 'isDisabled'>,
) {
  const insertHold = db.prepare(`
    insert into holds (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro,
      currency, resource_url, status, issued_at_ms, expires_at_ms, spent_before_micro, held_before_micro,
      requested_by, request_key, reserve)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, zeroblob(${reservedBytes}))`)
  const selectByRequest = db.prepare<[string, string, string, string], HoldRow>(`
    select * from holds
    where account_id = ? and environment = ? and requested_by = ? and request_key = ?`)
  const holdAmount = db.prepare(
    `update mandate_sums set held_micro = held_micro + ?
     where no = (select no from mandate_terms where account_id = ? and id = ?)`,
  )
  const { findHold } = prepareHoldLookup(db)
  const { findSeller, findMandate, recordPaidSeller, forgetSeller, forget } = prepareLastingFacts(db, acts)
  const captureHold = db.prepare(`
    update holds set status = 'captured', transaction_id = ?, captured_by = ?, merchant_domain = ?,
      idempotency_key = ?, reserve = null
    where rowid = ? and status = 'open'`)
  const spendAmount = db.prepare(
    'update mandate_sums set spent_micro = spent_micro + ?, held_micro = held_micro - ? where no = ?',
  )
  const insertTransaction = db.prepare(`
    insert into transactions (${transactionColumns.join(', ')})
    values (${transactionColumns.map(() => '?').join(', ')})`)
  const insertPayment = db.prepare(`
    insert into transactions (account_id, id, environment, side, status, agent_id, mandate_id, amount_text,
      amount_micro, currency, resource_url, merchant_domain, seller_account_id, seller_id, nonce, created_at_ms,
      collected_by)
    select account_id, ?, environment, 'payer', 'paid', agent_id, mandate_id, amount_text,
      amount_micro, currency, resource_url, ?, ?, ?, nonce, ?, ?
    from holds where rowid = ?`)
  const copyToPayee = db.prepare(`
    insert into transactions (${transactionColumns.join(', ')})
    select ${transactionColumns.map((column) => payeesOwn[column] ?? column).join(', ')}
    from transactions where account_id = ? and id = ?`)

  let recorded: RecordedTransaction[] = []

  /** Records a payment, and so its event, under both accounts when they are two. */
  function recordPayment(capture: Capture, hold: FoundHold, seller: RegisteredSeller | undefined): void {
    const { transactionId: id, caller, nowMs } = capture
    const { account_id, agent_id, mandate_id } = hold
    const merchantDomain = normalizeHostName(capture.merchantDomain)
    const payment = {
      account_id,
      id,
      environment: caller.environment,
      side: 'payer',
      status: 'paid',
      agent_id,
      mandate_id,
      hasMandate: true,
      amount_micro: hold.amount_micro,
      merchant_domain: merchantDomain,
      seller_account_id: seller?.accountId ?? null,
      reason_code: null,
      created_at_ms: nowMs,
    } as const
    const inserted = insertPayment.run(
      id,
      merchantDomain,
      seller?.accountId,
      seller?.id,
      nowMs,
      caller.keyId,
      hold.rowid,
    )
    recorded.push({ ...payment, rowid: BigInt(inserted.lastInsertRowid) })
    if (!seller || seller.accountId === account_id) return
    const copied = copyToPayee.run(account_id, id)
    recorded.push({
      ...payment,
      account_id: seller.accountId,
      side: 'payee',
      rowid: BigInt(copied.lastInsertRowid),
    })
  }

  return {
    /** The transactions that were inserted since this was last asked, in their order. */
    takeRecorded(): readonly RecordedTransaction[] {
      const taken = recorded
      recorded = []
      return taken
    },

    forgetSeller,

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
      const row = recordOfEvaluation(proposal, decision, { seller, mandate })
      const { lastInsertRowid } = insertTransaction.run(transactionColumns.map((column) => row[column]))
      // One of the other environment is a mandate, too.
      const hasMandate = mandate !== undefined || findMandate(row.account_id, row.mandate_id) !== undefined
      recorded.push({ ...row, hasMandate, rowid: BigInt(lastInsertRowid) })
      return decision
    },

    issueProof(hold: Hold, requestKey?: RequestKey): ProofOutcome {
      const { accountId, environment } = hold
      const first =
        requestKey &&
        selectByRequest.get(accountId, environment, requestKey.callerId, requestKey.idempotencyKey)
      if (first) return decideRepeat(hold, toHold(first))
      acts.releaseExpired(hold.accountId, hold.mandateId, hold.issuedAtMs)
      const agent = acts.findAgent({ ...hold, id: hold.agentId })
      const mandate = acts.findMandate({ ...hold, id: hold.mandateId })
      const decision = decideHold(hold, { agent, mandate })
      if (decision.decision === 'denied' || !mandate) return decision
      const { spentBeforeMicro, heldBeforeMicro } = grantHold(hold, mandate, requestKey)
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
        requestKey?.callerId,
        requestKey?.idempotencyKey,
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
        isDisabled: acts.isDisabled,
      })
      if ('outcome' in decision) return decision.outcome
      const { hold, mandate, seller } = decision
      const { transactionId, idempotencyKey } = capture
      const { changes } = captureHold.run(
        transactionId,
        caller.keyId,
        merchantDomain,
        idempotencyKey,
        hold.rowid,
      ) // 5
      if (changes !== 1) return { outcome: 'failed', reason: 'nonce_reused' }
      spendAmount.run(hold.amount_micro, hold.amount_micro, mandate.no) // 6
      recordPayment(capture, hold, seller) // 7, 8
      recordPaidSeller(mandate, hold.mandate_id, merchantDomain)
      return { outcome: 'captured', transactionId }
    },

    settleLate(attempt: LateAttempt): LateOutcome {
      const hold = findHold(attempt)
      const { outcome, isEnded } = decideLate(attempt, hold)
      if (isEnded && hold) acts.endHold(hold, 'expired')
      return outcome
    },
  }
}
