// Longer than 400 lines: it states the rules of the whole interface once, as one class.
import type { ProofStatus } from '@purser/wire/payments'
import type { MandateStatus } from '@purser/wire/mandates'
import type { DenialCode } from '@purser/wire/policy'

import { approvalWindowMs, increaseWindowMs } from '../../src/domain/approval.ts'
import { holdGraceMs, validityWindowMs } from '../../src/domain/proof.ts'
import { captureSeconds, isRefundedWhole } from './history.ts'
import type {
  Answer,
  ApprovalContent,
  BudgetMove,
  EvaluateRequest,
  LedgerContent,
  MandateContent,
  MandateMove,
  ProofRequest,
  Request,
  VerifyRequest,
  VersionContent,
} from './history.ts'
import { collectorDomain } from './market.ts'

type Mutable<Content> = { -readonly [Field in keyof Content]: Content[Field] }
type ActOf<Act extends Request['act']> = Request & { readonly act: Act }
type Hold = Mutable<LedgerContent['holds'][number]> & { readonly domain: string }

interface Approval extends Mutable<ApprovalContent> {
  readonly domain: string
  /** What an increase changes, of which version. */
  readonly change: { readonly version: number; readonly maxTotalMicro: bigint } | null
  status: 'pending' | 'approved' | 'denied' | 'consumed'
  isApproved?: boolean
  expiresAtMs: number
}

/**
 * A ledger that follows the interface and the decisions, in memory and one operation after the other. It is a
 * separate implementation, and shares nothing with the stores except the lifetime of a hold.
 */
export class ModelLedger {
  readonly #agents = new Map<string, { readonly id: string; status: string }>()
  readonly #keys = new Map<string, { isRevoked: boolean }>()
  readonly #mandates = new Map<string, Mutable<MandateContent>>()
  readonly #budgets = new Map<string, LedgerContent['budgets'][number]>()
  readonly #frozenBudgets = new Set<string>()
  readonly #holds = new Map<string, Hold>()
  /** By their mandates. */
  readonly #holdsOf = new Map<string, Hold[]>()
  readonly #approvals = new Map<string, Approval>()
  readonly #versions: VersionContent[] = []
  readonly #transactions: LedgerContent['transactions'][number][] = []
  readonly #events: LedgerContent['events'][number][] = []
  /** The stop that has paused a mandate. */
  readonly #stoppedBy = new Map<string, string>()
  #lastStop: string | undefined
  /** The refunds by payment and idempotency key. */
  readonly #refundIds = new Map<string, string>()
  #isCollectorDisabled = false
  #isDomainReleased = false
  #lastId = 0

  constructor(keyIds: readonly string[]) {
    for (const id of keyIds) this.#keys.set(id, { isRevoked: false })
  }

  /** Whether a key works, checked when its request arrives. */
  admits(keyId: string): boolean {
    return this.#keys.get(keyId)?.isRevoked === false
  }

  /** Executes a request at once; `nowMs` is when it arrived. */
  act(keyId: string, request: Request, nowMs: number): Answer {
    switch (request.act) {
      case 'create-agent':
        return this.#create('agent', (id) => this.#agents.set(id, { id, status: 'active' }))
      case 'issue-key':
        return this.#create('api_key', (id) => this.#keys.set(id, { isRevoked: false }))
      case 'create-mandate':
        return this.#createMandate(request)
      case 'create-budget':
        return this.#create('budget', (id) => this.#budgets.set(id, { id, maxMicro: request.maxMicro }))
      case 'freeze-budget':
      case 'unfreeze-budget':
        return this.#freezeBudget(request, nowMs)
      case 'revoke-key':
        return this.#revokeKey(request.keyId)
      case 'revoke-agent':
        return this.#revokeAgent(request.agentId, nowMs)
      case 'pause-mandate':
      case 'resume-mandate':
      case 'revoke-mandate':
        return this.#moveMandate(request, nowMs)
      case 'change-budget':
      case 'assign-agent':
      case 'disable-payer':
      case 'enable-payer':
        throw new Error(`no client asks the model for ${request.act}`)
      case 'stop-all':
        return this.#stopAll(request.name, nowMs)
      case 'undo-stop':
        return this.#undoStop(request.name)
      case 'authorize':
        return this.#authorize(keyId, request, nowMs)
      case 'capture-authorized':
        return this.#captureAuthorized(keyId, request, nowMs)
      case 'void-authorized':
        return this.#voidAuthorized(request, nowMs)
      case 'refund':
        return this.#refund(request, nowMs)
      case 'decide':
        return this.#decide(request, nowMs)
      case 'amend-mandate': {
        const { mandateId, version, maxPaymentMicro } = request
        return this.#amend(mandateId, version, { maxPaymentMicro })
      }
      case 'request-increase':
        return this.#requestIncrease(request, nowMs)
      case 'void-proof':
        return this.#voidProof(request.nonce, nowMs)
      case 'disable-collector':
      case 'enable-collector':
        this.#isCollectorDisabled = request.act === 'disable-collector'
        return { is: 'done' }
      case 'release-domain':
      case 'register-seller':
        this.#isDomainReleased = request.act === 'release-domain'
        return { is: 'done' }
      case 'ask-proof':
        return this.#issueProof(request, nowMs)
      case 'verify':
        return this.#verify(keyId, request, nowMs)
      case 'evaluate':
        return this.#evaluate(request, nowMs)
      case 'read-mandate': {
        const { status, spentMicro, heldMicro, authorizedMicro, version } = this.#mandate(request.mandateId)
        return { is: 'mandate', status, spentMicro, heldMicro, authorizedMicro, version }
      }
      case 'look-up': {
        const { status, expiresAtMs, transactionId, captureDeadlineMs } = this.#hold(request.nonce)
        const isOverdue = status === 'authorized' && (captureDeadlineMs ?? 0) <= nowMs
        const isExpired = isOverdue || (status === 'open' && expiresAtMs <= nowMs)
        return { is: 'proof', status: isExpired ? 'expired' : status, transactionId }
      }
      default:
        return request satisfies never
    }
  }

  /** Ends what has expired, like the service does every second. */
  sweep(nowMs: number): void {
    for (const mandate of this.#mandates.values()) this.#releaseExpired(mandate, nowMs)
  }

  content(readAtMs: number): LedgerContent {
    return structuredClone({
      readAtMs,
      sweptUntilMs: readAtMs,
      agents: [...this.#agents.values()],
      mandates: [...this.#mandates.values()],
      budgets: [...this.#budgets.values()],
      limitFaults: [],
      holds: [...this.#holds.values()],
      approvals: [...this.#approvals.values()],
      versions: this.#versions,
      transactions: this.#transactions,
      events: this.#events,
    })
  }

  #create(kind: string, insert: (id: string) => void): Answer {
    const id = this.#nextId(kind)
    insert(id)
    this.#recordEvent(`${kind}.created`, id)
    return { is: 'created', id }
  }

  #createMandate(request: Extract<Request, { act: 'create-mandate' }>): Answer {
    const { agentId, maxTotalMicro, maxPaymentMicro, approveAboveMicro, limitMicro, budgetId } = request
    if (this.#agents.get(agentId)?.status !== 'active') return { is: 'conflict', detail: 'agent_revoked' }
    const fresh = {
      agentId,
      maxTotalMicro,
      maxPaymentMicro,
      spentMicro: 0n,
      heldMicro: 0n,
      authorizedMicro: 0n,
      version: 1,
      approveAboveMicro,
      limitMicro,
      budgetId,
    }
    return this.#create('mandate', (id) => this.#mandates.set(id, { id, status: 'active', ...fresh }))
  }

  #freezeBudget({ act, budgetId }: BudgetMove, nowMs: number): Answer {
    if (act === 'unfreeze-budget') this.#frozenBudgets.delete(budgetId)
    else if (!this.#frozenBudgets.has(budgetId)) {
      this.#frozenBudgets.add(budgetId)
      for (const mandate of this.#mandates.values()) {
        if (mandate.budgetId === budgetId) this.#endHolds(mandate, nowMs)
      }
    }
    return { is: 'done' }
  }

  #revokeKey(keyId: string): Answer {
    const key = this.#keys.get(keyId)
    if (key && !key.isRevoked) {
      key.isRevoked = true
      this.#recordEvent('api_key.revoked', keyId)
    }
    return { is: 'done' }
  }

  #revokeAgent(agentId: string, nowMs: number): Answer {
    const agent = this.#agents.get(agentId)
    if (agent?.status === 'active') {
      agent.status = 'revoked'
      const mandates = [...this.#mandates.values()]
      for (const mandate of mandates) if (mandate.agentId === agentId) this.#endHolds(mandate, nowMs)
      this.#recordEvent('agent.revoked', agentId)
    }
    return { is: 'done' }
  }

  #moveMandate({ act, mandateId }: MandateMove, nowMs: number): Answer {
    const mandate = this.#mandate(mandateId)
    const { status, event } = moves[act]
    if (mandate.status === status) {
      this.#stoppedBy.delete(mandateId)
      return { is: 'done' }
    }
    if (mandate.status === 'revoked') return { is: 'conflict', detail: 'mandate_revoked' }
    mandate.status = status
    this.#stoppedBy.delete(mandateId)
    if (status !== 'active') this.#endHolds(mandate, nowMs)
    this.#recordEvent(event, mandateId)
    return { is: 'done' }
  }

  /** Pauses what is active, and takes over what an earlier stop has paused. */
  #stopAll(name: string, nowMs: number): Answer {
    this.#lastStop = name
    for (const mandate of this.#mandates.values()) {
      if (mandate.status === 'active') {
        mandate.status = 'paused'
        this.#endHolds(mandate, nowMs)
        this.#recordEvent('mandate.paused', mandate.id)
      } else if (mandate.status !== 'paused' || !this.#stoppedBy.has(mandate.id)) continue
      this.#stoppedBy.set(mandate.id, name)
    }
    return { is: 'done' }
  }

  #undoStop(name: string | null): Answer {
    if (name !== null && name !== this.#lastStop) return { is: 'done' }
    for (const id of this.#stoppedBy.keys()) {
      const mandate = this.#mandate(id)
      if (mandate.status !== 'paused') continue
      mandate.status = 'active'
      this.#recordEvent('mandate.resumed', id)
    }
    this.#stoppedBy.clear()
    return { is: 'done' }
  }

  #voidProof(nonce: string, nowMs: number): Answer {
    const hold = this.#hold(nonce)
    this.#release(
      this.#mandate(hold.mandateId),
      hold.expiresAtMs > nowMs ? 'voided' : 'expired',
      (one) => one === hold,
    )
    return { is: 'proof', status: hold.status, transactionId: hold.transactionId }
  }

  #issueProof(request: ProofRequest, nowMs: number): Answer {
    const { agentId, mandateId, amountMicro, domain } = request
    const mandate = this.#mandate(mandateId)
    this.#releaseExpired(mandate, nowMs)
    if (this.#agents.get(agentId)?.status !== 'active') return { is: 'denied', code: 'agent_revoked' }
    if (mandate.status !== 'active') return { is: 'denied', code: 'mandate_expired' }
    if (amountMicro > mandate.maxPaymentMicro) {
      return { is: 'denied', code: 'amount_exceeds_per_transaction_limit' }
    }
    if (committedOf(mandate) + amountMicro > mandate.maxTotalMicro) {
      return { is: 'denied', code: 'total_budget_exceeded' }
    }
    const limit = this.#limitExceeded(mandate, amountMicro)
    if (limit) return { is: 'denied', code: limit }
    const isApproved = mandate.approveAboveMicro === null || amountMicro <= mandate.approveAboveMicro
    const given = isApproved ? undefined : this.#approvals.get(request.approvalId ?? '')
    if (!isApproved && !(given && isUsable(given, request, nowMs))) {
      const approvalId = given?.id ?? this.#askForApproval(request, nowMs)
      return { is: 'denied', code: 'approval_required', approvalId }
    }
    const nonce = this.#nextId('nonce')
    if (given) Object.assign(given, { status: 'consumed', nonce })
    mandate.heldMicro += amountMicro
    const hold: Hold = {
      nonce,
      mandateId,
      amountMicro,
      domain,
      status: 'open',
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + validityWindowMs + holdGraceMs,
      transactionId: null,
      capturedBy: null,
      idempotencyKey: null,
      authorizedBy: null,
      authorizationKey: null,
      captureDeadlineMs: null,
      capturedMicro: null,
      refundedMicro: null,
      orderId: null,
      mandateVersion: mandate.version === 1 ? null : mandate.version,
      budgetPath: mandate.budgetId === null ? null : [mandate.budgetId],
    }
    this.#holds.set(nonce, hold)
    this.#holdsOf.set(mandateId, [...(this.#holdsOf.get(mandateId) ?? []), hold])
    return { is: 'granted', nonce }
  }

  /** The limit or shared budget that a payment would exceed. Nothing resets: their windows are lifetimes. */
  #limitExceeded(mandate: MandateContent, amountMicro: bigint): DenialCode | undefined {
    const { limitMicro, budgetId } = mandate
    if (limitMicro !== null && committedOf(mandate) + amountMicro > limitMicro) {
      return 'velocity_limit_exceeded'
    }
    const budget = this.#budgets.get(budgetId ?? '')
    if (!budget) return undefined
    if (this.#frozenBudgets.has(budget.id)) return 'budget_frozen'
    const below = [...this.#mandates.values()].filter((one) => one.budgetId === budget.id)
    const committedMicro = below.reduce((sum, one) => sum + committedOf(one), 0n)
    return committedMicro + amountMicro > budget.maxMicro ? 'shared_budget_exceeded' : undefined
  }

  /** The same request has the same approval. */
  #askForApproval({ mandateId, amountMicro, domain }: ProofRequest, nowMs: number): string {
    const same = [...this.#approvals.values()].find(
      (one) =>
        one.mandateId === mandateId &&
        one.domain === domain &&
        one.expiresAtMs > nowMs &&
        (one.status === 'denied'
          ? one.amountMicro === amountMicro
          : one.status !== 'consumed' && (one.amountMicro ?? 0n) >= amountMicro),
    )
    if (same) return same.id
    const asked = { mandateId, amountMicro, domain, change: null, requestedAtMs: nowMs }
    return this.#newApproval(asked, nowMs + approvalWindowMs)
  }

  #newApproval(
    asked: Pick<Approval, 'mandateId' | 'amountMicro' | 'domain' | 'change' | 'requestedAtMs'>,
    expiresAtMs: number,
  ): string {
    const id = this.#nextId('approval')
    this.#approvals.set(id, { id, ...asked, status: 'pending', expiresAtMs, nonce: null })
    return id
  }

  #decide({ approvalId, verdict }: ActOf<'decide'>, nowMs: number): Answer {
    const approval = this.#approvals.get(approvalId) ?? missing(approvalId)
    const decided = (): Answer => ({ is: 'decided', status: approval.status })
    const isKnown = verdict === 'denied' ? approval.status === 'denied' : approval.isApproved === true
    if (isKnown && (verdict === 'denied' || approval.status !== 'denied')) return decided()
    const isOver = approval.expiresAtMs <= nowMs && approval.status !== 'denied'
    if (isOver && approval.status !== 'consumed') return { is: 'conflict', detail: 'approval_expired' }
    const mayTakeBack = verdict === 'denied' && approval.status === 'approved' && approval.change === null
    if (approval.status !== 'pending' && !mayTakeBack) return { is: 'conflict', detail: 'approval_decided' }
    if (verdict === 'denied') approval.status = 'denied'
    else {
      const mandate = this.#mandate(approval.mandateId)
      if (mandate.status === 'revoked') return { is: 'conflict', detail: 'mandate_revoked' }
      if (approval.change) {
        const { version, maxTotalMicro } = approval.change
        const amended = this.#amend(approval.mandateId, version, { maxTotalMicro })
        if (amended.is !== 'amended') return amended
      }
      Object.assign(approval, { status: 'approved', isApproved: true, expiresAtMs: nowMs + approvalWindowMs })
    }
    return decided()
  }

  #amend(mandateId: string, version: number, terms: Partial<Mutable<MandateContent>>): Answer {
    const mandate = this.#mandate(mandateId)
    if (mandate.status === 'revoked') return { is: 'conflict', detail: 'mandate_revoked' }
    const isSame = Object.entries(terms).every(
      ([name, value]) => mandate[name as keyof MandateContent] === value,
    )
    if (isSame) return { is: 'amended', version: mandate.version }
    if (mandate.version !== version) return { is: 'conflict', detail: 'version_mismatch' }
    if (version === 1) this.#keepVersion(mandate)
    Object.assign(mandate, terms, { version: version + 1 })
    this.#keepVersion(mandate)
    this.#recordEvent('mandate.amended', mandateId)
    return { is: 'amended', version: mandate.version }
  }

  #keepVersion({ id: mandateId, version, maxTotalMicro, maxPaymentMicro }: MandateContent): void {
    this.#versions.push({ mandateId, version, maxTotalMicro, maxPaymentMicro })
  }

  #requestIncrease({ mandateId, maxTotalMicro }: ActOf<'request-increase'>, nowMs: number): Answer {
    const mandate = this.#mandate(mandateId)
    if (mandate.status === 'revoked') return { is: 'conflict', detail: 'mandate_revoked' }
    if (maxTotalMicro <= mandate.maxTotalMicro) return { is: 'conflict', detail: 'nothing_to_increase' }
    const { version } = mandate
    const same = [...this.#approvals.values()].find(
      ({ change, status, ...one }) =>
        one.mandateId === mandateId &&
        status === 'pending' &&
        change?.version === version &&
        change.maxTotalMicro === maxTotalMicro,
    )
    const change = { version, maxTotalMicro }
    const asked = { mandateId, amountMicro: null, domain: '', change, requestedAtMs: nowMs }
    const approvalId = same?.id ?? this.#newApproval(asked, nowMs + increaseWindowMs)
    return { is: 'requested', approvalId }
  }

  #verify(keyId: string, { nonce, idempotencyKey }: VerifyRequest, nowMs: number): Answer {
    const hold = this.#hold(nonce)
    const isCollector = hold.domain === collectorDomain
    if (isCollector && this.#isCollectorDisabled) return { is: 'unauthorized' }
    const isRetry = hold.capturedBy === keyId && hold.idempotencyKey === idempotencyKey
    const isWhole = hold.capturedMicro === null && !isRefundedWhole(hold)
    if (hold.transactionId !== null && isRetry && isWhole) {
      return { is: 'verified', transactionId: hold.transactionId, isReplay: true }
    }
    if (nowMs - hold.issuedAtMs > validityWindowMs) return { is: 'failed', reason: 'proof_expired' }
    if (isCollector && this.#isDomainReleased) return { is: 'conflict', detail: 'seller_not_yours' }
    this.#releaseOverdue(hold, nowMs)
    if (hold.status === 'captured' || hold.status === 'authorized') {
      return { is: 'failed', reason: 'nonce_reused' }
    }
    if (hold.status !== 'open' || hold.expiresAtMs <= nowMs) return { is: 'failed', reason: 'proof_expired' }
    const mandate = this.#mandate(hold.mandateId)
    mandate.heldMicro -= hold.amountMicro
    mandate.spentMicro += hold.amountMicro
    return this.#charge(hold, { keyId, idempotencyKey, amountMicro: hold.amountMicro, nowMs })
  }

  #charge(
    hold: Hold,
    {
      keyId,
      idempotencyKey,
      amountMicro,
      nowMs,
    }: { keyId: string; idempotencyKey: string; amountMicro: bigint; nowMs: number },
  ): Answer {
    const transactionId = this.#nextId('transaction')
    Object.assign(hold, { status: 'captured', transactionId, capturedBy: keyId, idempotencyKey })
    this.#enter(hold, { id: transactionId, status: 'paid', amountMicro, nowMs })
    this.#recordEvent('payment.verified', transactionId, hold.nonce)
    return { is: 'verified', transactionId, isReplay: false }
  }

  /** Records a transaction in the accounts that it concerns. */
  #enter(
    { nonce, mandateId, domain }: Hold,
    { nowMs: createdAtMs, ...row }: { id: string; status: string; amountMicro: bigint; nowMs: number },
  ): void {
    const isBetweenAccounts = domain === collectorDomain
    for (const side of isBetweenAccounts ? (['payer', 'payee'] as const) : (['payer'] as const)) {
      this.#transactions.push({ ...row, side, isBetweenAccounts, mandateId, nonce, createdAtMs })
    }
  }

  #authorize(keyId: string, { nonce, idempotencyKey }: ActOf<'authorize'>, nowMs: number): Answer {
    const hold = this.#hold(nonce)
    if (this.#isShut(hold)) return { is: 'unauthorized' }
    if (hold.authorizedBy === keyId && hold.authorizationKey === idempotencyKey && !isRefundedWhole(hold)) {
      return { is: 'authorized', isReplay: true }
    }
    if (nowMs - hold.issuedAtMs > validityWindowMs) return { is: 'failed', reason: 'proof_expired' }
    if (hold.domain === collectorDomain && this.#isDomainReleased) {
      return { is: 'conflict', detail: 'seller_not_yours' }
    }
    this.#releaseOverdue(hold, nowMs)
    if (hold.status === 'captured' || hold.status === 'authorized') {
      return { is: 'failed', reason: 'nonce_reused' }
    }
    if (hold.status !== 'open' || hold.expiresAtMs <= nowMs) return { is: 'failed', reason: 'proof_expired' }
    const mandate = this.#mandate(hold.mandateId)
    mandate.heldMicro -= hold.amountMicro
    mandate.authorizedMicro += hold.amountMicro
    Object.assign(hold, {
      status: 'authorized',
      authorizedBy: keyId,
      authorizationKey: idempotencyKey,
      captureDeadlineMs: nowMs + captureSeconds * 1_000,
    })
    return { is: 'authorized', isReplay: false }
  }

  #captureAuthorized(
    keyId: string,
    { nonce, idempotencyKey, amountMicro }: ActOf<'capture-authorized'>,
    nowMs: number,
  ): Answer {
    const hold = this.#hold(nonce)
    if (this.#isShut(hold)) return { is: 'unauthorized' }
    this.#releaseOverdue(hold, nowMs)
    if (hold.status === 'captured' && hold.transactionId !== null) {
      const isRetry = hold.capturedBy === keyId && hold.idempotencyKey === idempotencyKey
      if (isRetry && !isRefundedWhole(hold))
        return { is: 'verified', transactionId: hold.transactionId, isReplay: true }
      return { is: 'conflict', detail: 'already_captured' }
    }
    if (hold.status === 'voided') return { is: 'conflict', detail: 'authorization_voided' }
    if (hold.status !== 'authorized') return { is: 'conflict', detail: 'authorization_expired' }
    const mandate = this.#mandate(hold.mandateId)
    const chargedMicro = amountMicro ?? hold.amountMicro
    mandate.authorizedMicro -= hold.amountMicro
    mandate.spentMicro += chargedMicro
    hold.capturedMicro = chargedMicro < hold.amountMicro ? chargedMicro : null
    return this.#charge(hold, { keyId, idempotencyKey, amountMicro: chargedMicro, nowMs })
  }

  #voidAuthorized({ nonce }: ActOf<'void-authorized'>, nowMs: number): Answer {
    const hold = this.#hold(nonce)
    if (this.#isShut(hold)) return { is: 'unauthorized' }
    this.#releaseOverdue(hold, nowMs)
    if (hold.status === 'captured') return { is: 'conflict', detail: 'already_captured' }
    if (hold.status === 'authorized') {
      hold.status = 'voided'
      this.#mandate(hold.mandateId).authorizedMicro -= hold.amountMicro
    }
    return { is: 'proof', status: hold.status, transactionId: null }
  }

  #refund({ transactionId, amountMicro, idempotencyKey }: ActOf<'refund'>, nowMs: number): Answer {
    const hold = [...this.#holds.values()].find((one) => one.transactionId === transactionId)
    if (!hold) return missing(transactionId)
    if (this.#isShut(hold)) return { is: 'unauthorized' }
    const known = this.#refundIds.get(`${transactionId} ${idempotencyKey}`)
    if (known !== undefined) return { is: 'refunded', refundId: known, isReplay: true }
    const refundedMicro = (hold.refundedMicro ?? 0n) + amountMicro
    if (refundedMicro > (hold.capturedMicro ?? hold.amountMicro)) {
      return { is: 'conflict', detail: 'refund_exceeds_payment' }
    }
    const refundId = this.#nextId('transaction')
    hold.refundedMicro = refundedMicro
    this.#mandate(hold.mandateId).spentMicro -= amountMicro
    this.#refundIds.set(`${transactionId} ${idempotencyKey}`, refundId)
    this.#enter(hold, { id: refundId, status: 'refunded', amountMicro, nowMs })
    return { is: 'refunded', refundId, isReplay: false }
  }

  /** Whether the account that collects is disabled. */
  #isShut({ domain }: Hold): boolean {
    return domain === collectorDomain && this.#isCollectorDisabled
  }

  #releaseOverdue(hold: Hold, nowMs: number): void {
    if (hold.status !== 'authorized' || (hold.captureDeadlineMs ?? 0) > nowMs) return
    hold.status = 'expired'
    this.#mandate(hold.mandateId).authorizedMicro -= hold.amountMicro
  }

  #evaluate({ agentId, mandateId, amountMicro }: EvaluateRequest, nowMs: number): Answer {
    const mandate = this.#mandate(mandateId)
    const transactionId = this.#nextId('transaction')
    const code =
      this.#agents.get(agentId)?.status !== 'active'
        ? 'agent_revoked'
        : mandate.status !== 'active'
          ? 'mandate_expired'
          : mandate.spentMicro + amountMicro > mandate.maxTotalMicro
            ? 'total_budget_exceeded'
            : amountMicro > mandate.maxPaymentMicro
              ? 'amount_exceeds_per_transaction_limit'
              : (this.#limitExceeded(mandate, amountMicro) ??
                (mandate.approveAboveMicro !== null && amountMicro > mandate.approveAboveMicro
                  ? 'approval_required'
                  : undefined))
    this.#transactions.push({
      id: transactionId,
      side: 'payer',
      isBetweenAccounts: false,
      status: code ? 'denied' : 'approved',
      mandateId,
      amountMicro,
      nonce: null,
      createdAtMs: nowMs,
    })
    return code ? { is: 'denied', code, transactionId } : { is: 'approved', transactionId }
  }

  #endHolds(mandate: Mutable<MandateContent>, nowMs: number): void {
    this.#releaseExpired(mandate, nowMs)
    this.#release(mandate, 'voided', () => true)
  }

  #releaseExpired(mandate: Mutable<MandateContent>, nowMs: number): void {
    this.#release(mandate, 'expired', (hold) => hold.expiresAtMs <= nowMs)
    for (const hold of this.#holdsOf.get(mandate.id) ?? []) this.#releaseOverdue(hold, nowMs)
  }

  #release(mandate: Mutable<MandateContent>, status: ProofStatus, isOver: (hold: Hold) => boolean): void {
    for (const hold of this.#holdsOf.get(mandate.id) ?? []) {
      if (hold.status !== 'open' || !isOver(hold)) continue
      hold.status = status
      mandate.heldMicro -= hold.amountMicro
    }
  }

  #recordEvent(type: string, subjectId: string, nonce: string | null = null): void {
    this.#events.push({ type, subjectId, nonce })
  }

  #nextId(kind: string): string {
    return `${kind}_${++this.#lastId}`
  }

  #mandate(id: string): Mutable<MandateContent> {
    return this.#mandates.get(id) ?? missing(id)
  }

  #hold(nonce: string): Hold {
    return this.#holds.get(nonce) ?? missing(nonce)
  }
}

function committedOf({ spentMicro, heldMicro, authorizedMicro }: MandateContent): bigint {
  return spentMicro + heldMicro + authorizedMicro
}

/** Whether an approval admits a payment. */
function isUsable(
  approval: Approval,
  { mandateId, domain, amountMicro }: ProofRequest,
  nowMs: number,
): boolean {
  return (
    approval.mandateId === mandateId &&
    approval.domain === domain &&
    (approval.amountMicro ?? 0n) >= amountMicro &&
    approval.status === 'approved' &&
    approval.expiresAtMs > nowMs
  )
}

const moves: Record<MandateMove['act'], { readonly status: MandateStatus; readonly event: string }> = {
  'pause-mandate': { status: 'paused', event: 'mandate.paused' },
  'resume-mandate': { status: 'active', event: 'mandate.resumed' },
  'revoke-mandate': { status: 'revoked', event: 'mandate.revoked' },
}

function missing(id: string): never {
  throw new Error(`the clients ask only for what exists, and ${id} does not`)
}
