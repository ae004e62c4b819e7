// Longer than 400 lines, because it answers every kind of request, a case each, like the routes.
import { auditEvent } from '../../src/domain/audit.ts'
import { formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import { holdDefaults } from '../../src/domain/new-records.ts'
import { holdGraceMs, validityWindowMs } from '../../src/domain/proof.ts'
import type { Caller, Scope } from '../../src/domain/records.ts'
import { type Ids } from '../../src/ids.ts'
import type { Driver, NetChange } from '../../src/store/ledger/driver.ts'
import { Ledger, type RunOptions } from '../../src/store/ledger/ledger.ts'
import type { MemoryDatabase } from '../../testing/memory/memory-database.ts'
import { advanceClock } from '../../src/store/ledger/operations/limits/test-clocks.ts'
import { moveAccount } from '../../src/store/ledger/operations/accounts.ts'
import { amendMandate } from '../../src/store/ledger/operations/amendments.ts'
import { decideApproval, requestIncrease } from '../../src/store/ledger/operations/approval-decisions.ts'
import { issueProof, revokeAgent, voidAll } from '../../src/store/ledger/several-transactions.ts'
import { createAgent } from '../../src/store/ledger/operations/agents.ts'
import { issueApiKey, revokeApiKey } from '../../src/store/ledger/operations/api-keys.ts'
import { evaluate } from '../../src/store/ledger/operations/evaluations.ts'
import {
  createMandate,
  moveMandate,
  releaseExpiredPayments,
} from '../../src/store/ledger/operations/mandates.ts'
import {
  authorize,
  captureAuthorized,
  settleLateAuthorization,
  voidAuthorized,
} from '../../src/store/ledger/operations/authorizations.ts'
import { capture, settleLate } from '../../src/store/ledger/operations/captures.ts'
import { statusOf } from '../../src/store/ledger/operations/payment-rows.ts'
import type { IssueOutcome, ProofCall } from '../../src/store/ledger/operations/payments.ts'
import { changeBudget } from '../../src/store/ledger/operations/limits/budget-changes.ts'
import { assignAgent, createBudget, freezeBudget } from '../../src/store/ledger/operations/limits/budgets.ts'
import { refund } from '../../src/store/ledger/operations/refunds.ts'
import { createSeller, releaseDomain } from '../../src/store/ledger/operations/sellers.ts'
import { voidProof } from '../../src/store/ledger/operations/voids.ts'
import { Rollup, type FindParts } from '../../src/store/ledger/rollup.ts'
import { continueStop, resumeAll, stopAll } from '../../src/store/ledger/stop-all.ts'
import {
  accounts,
  activityParts,
  apiKeys,
  budgets,
  mandates,
  payments,
  type ActivityPartsRow,
  type MandateRow,
  type PaymentRow,
  type RunningStop,
} from '../../src/store/ledger/tables.ts'
import type { Operation } from '../../src/store/ledger/operation.ts'
import { StoreUnavailableError } from '../../src/store/store.ts'
import { type SeededRandom } from '../../testing/seeded-random.ts'
import { captureSeconds, type Answer, type Request } from '../faults/history.ts'
import { collectorDomain } from '../faults/market.ts'
import { createFaultyDriver, type FaultyDriverOptions } from './faulty-driver.ts'
import {
  category,
  environment,
  findRow,
  limitOf,
  newKey,
  newMandate,
  newSeller,
  paymentOf,
} from './simulated-records.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface World {
  readonly random: SeededRandom
  readonly time: VirtualTime
  readonly database: MemoryDatabase
  readonly earlierRows: FaultyDriverOptions['earlierRows']
  readonly faultPercent: number
  /** How far the test clock of the account that pays is ahead. */
  readonly clockOffsetMs: () => number
  /** When each payment was requested and captured, by its nonce and its transaction, on that clock. */
  readonly madeAtMs: Map<string, number>
  /** When it was committed. */
  readonly writtenAtMs: Map<string, number>
  /** When the amount of each proof that was not captured was released, by its nonce. */
  readonly releasedAtMs: Map<string, number>
  /** The nonces of proofs that an attempt has denied. */
  readonly deniedNonces: Set<string>
  /** How many operations the services have run. */
  readonly operations: { count: number }
  /** Adds a bug to an operation. */
  readonly changeOperation: <Call, Outcome>(operation: Operation<Call, Outcome>) => Operation<Call, Outcome>
  /** Adds a bug to the driver. */
  readonly changeDriver: (driver: Driver) => Driver
}

/** The owner of the mandates, the seller in another account, and who may disable accounts. */
export interface Parties {
  readonly owner: Caller
  readonly collector: Caller
  readonly operator: Caller
}

/** A service process: its ledger, and its routes' handling of requests. */
export class SimulatedService {
  readonly #world: World
  readonly #ids: Ids
  /** How far its clock is ahead. */
  clockSkewMs = 0
  #ledger: Ledger
  #rollup: Rollup
  #life = { isOver: false }

  constructor(world: World, ids: Ids) {
    this.#world = world
    this.#ids = ids
    this.#ledger = this.#start()
    this.#rollup = this.#newRollup()
  }

  /** Ends the process and starts another. Calls in progress get no answer. */
  crash(): void {
    this.#life.isOver = true
    this.#life = { isOver: false }
    this.#ledger = this.#start()
    this.#rollup = this.#newRollup()
  }

  /** Sometimes ends the process in the middle of what it does now. */
  async #mayCrashSoon(): Promise<void> {
    const { random, time, faultPercent } = this.#world
    if (random.below(100) >= faultPercent) return
    const life = this.#life
    await time.sleep(random.below(100))
    if (!life.isOver) this.crash()
  }

  run<Call, Outcome>(
    operation: Operation<Call, Outcome>,
    call: Call,
    options?: RunOptions,
  ): Promise<Outcome> {
    this.#world.operations.count += 1
    return this.#ledger.run(noteDenied(this.#world, this.#world.changeOperation(operation)), call, options)
  }

  async answer(keyId: string, request: Request, parties: Parties): Promise<Answer> {
    const life = this.#life
    try {
      const answer = await this.#answer(keyId, request, parties)
      return life.isOver ? { is: 'unknown' } : answer
    } catch (error) {
      if (error instanceof StoreUnavailableError) return { is: 'unavailable' }
      return { is: 'broken', text: String(error) }
    }
  }

  async #answer(keyId: string, request: Request, parties: Parties): Promise<Answer> {
    const { owner, collector, operator } = parties
    const { accountId } = owner
    const { time, database } = this.#world
    const nowMs = time.nowMs + this.clockSkewMs
    const clockOffsetMs = this.#world.clockOffsetMs()
    const other = [collector, operator].find((one) => one.keyId === keyId)
    const key = findRow(database, apiKeys, { accountId: (other ?? owner).accountId, id: keyId })
    const account = key && findRow(database, accounts, { id: key.accountId })
    if (!key || key.revokedAtMs !== null || account?.disabledAtMs !== null) return { is: 'unauthorized' }
    const caller: Caller = {
      accountId: key.accountId,
      environment,
      keyId,
      role: key.role,
      agentId: key.agentId,
    }
    const atMs = caller.accountId === accountId ? nowMs + clockOffsetMs : nowMs
    const event = (type: Parameters<typeof auditEvent>[2]['type'], subjectId: string) =>
      auditEvent(caller, caller, { id: this.#ids.next('auditEvent'), type, subjectId, data: {}, atMs })
    const isLate = ({ issuedAtMs }: PaymentRow) =>
      [nowMs, nowMs + clockOffsetMs].every((ms) => Math.abs(ms - issuedAtMs) > validityWindowMs)
    const scope = { accountId, environment } as const
    switch (request.act) {
      case 'create-agent': {
        const id = this.#ids.next('agent')
        const agent = { ...scope, id, name: 'buyer', description: null, capabilities: [], budgetPath: null }
        const fresh = { ...agent, status: 'active', createdAtMs: atMs, revokedAtMs: null } as const
        await this.run(createAgent, [fresh, event('agent.created', id)])
        return { is: 'created', id }
      }
      case 'issue-key': {
        const id = this.#ids.next('apiKey')
        const role = request.agentId === null ? ('merchant' as const) : ('agent' as const)
        const fresh = { ...newKey(scope, id, role, atMs), agentId: request.agentId }
        const outcome = await this.run(issueApiKey, [fresh, event('api_key.created', id)])
        return outcome === 'created' ? { is: 'created', id } : { is: 'conflict', detail: outcome }
      }
      case 'create-mandate': {
        const id = this.#ids.next('mandate')
        const { limitMicro, budgetId } = request
        const limits = limitMicro === null ? null : [limitOf(this.#ids, limitMicro)]
        const counted = { limits, budgetPath: budgetId === null ? null : [budgetId] }
        const mandate = { ...newMandate({ ...scope, id, ...request }, atMs), ...counted }
        const outcome = await this.run(createMandate, [mandate, event('mandate.created', id)])
        if (typeof outcome !== 'string') throw new Error('a mandate without a key was replayed')
        return outcome === 'created' ? { is: 'created', id } : { is: 'conflict', detail: outcome }
      }
      case 'create-budget': {
        const id = this.#ids.next('budget')
        const limits = [limitOf(this.#ids, request.maxMicro)]
        const made = { version: 1, createdAtMs: atMs, updatedAtMs: atMs, frozenAtMs: null }
        const budget = { ...scope, id, name: 'Shared', ancestors: [], limits, ...made }
        const outcome = await this.run(createBudget, [budget, event('budget.created', id)])
        return typeof outcome === 'string' ? { is: 'broken', text: outcome } : { is: 'created', id }
      }
      case 'freeze-budget':
      case 'unfreeze-budget': {
        const budget = { ...scope, id: request.budgetId }
        const isFrozen = request.act === 'freeze-budget'
        const type = isFrozen ? 'budget.frozen' : 'budget.unfrozen'
        const outcome = await this.run(freezeBudget, [budget, isFrozen, event(type, budget.id)])
        return typeof outcome === 'string' ? { is: 'broken', text: outcome } : { is: 'done' }
      }
      case 'change-budget': {
        const budget = { ...scope, id: request.budgetId }
        const { version: expectedVersion = 0 } = findRow(database, budgets, budget) ?? {}
        const window = request.window === 'month' ? { rollingSeconds: 30 * 86_400 } : request.window
        const limits = [limitOf(this.#ids, request.maxMicro, window)]
        const change = { expectedVersion, limits, endsHolds: request.endsHolds }
        const changed = event('budget.changed', budget.id)
        const outcome = await this.run(changeBudget, [budget, change, changed])
        if (outcome.outcome === 'changed') return { is: 'done' }
        return {
          is: 'conflict',
          detail: outcome.outcome === 'refused' ? outcome.code : 'budget_below_committed',
        }
      }
      case 'assign-agent': {
        const agent = { ...scope, id: request.agentId }
        const { budgetId } = request
        const assigned = event('agent.budget_changed', agent.id)
        const outcome = await this.run(assignAgent, [agent, { budgetId }, assigned])
        return typeof outcome === 'string' ? { is: 'broken', text: outcome } : { is: 'done' }
      }
      case 'revoke-key': {
        const { keyId: id } = request
        const outcome = await this.run(revokeApiKey, [{ accountId, id }, event('api_key.revoked', id)])
        return typeof outcome === 'string' ? { is: 'conflict', detail: outcome } : { is: 'done' }
      }
      case 'revoke-agent': {
        const { agentId: id } = request
        const outcome = await revokeAgent(this, { ...scope, id }, event('agent.revoked', id))
        return typeof outcome === 'string' ? { is: 'conflict', detail: outcome } : { is: 'done' }
      }
      case 'pause-mandate':
      case 'resume-mandate':
      case 'revoke-mandate': {
        const { to, type } = moves[request.act]
        const mandate = { ...scope, id: request.mandateId }
        const outcome = await this.run(moveMandate, [mandate, to, event(type, request.mandateId)])
        return typeof outcome === 'string' ? { is: 'conflict', detail: outcome } : { is: 'done' }
      }
      case 'ask-proof': {
        const nonce = this.#ids.nonce()
        const hold = {
          ...paymentOf(request),
          ...scope,
          nonce,
          ...holdDefaults,
          issuedAtMs: atMs,
          expiresAtMs: atMs + validityWindowMs + holdGraceMs,
          category,
          orderId: request.orderId ?? null,
          metadata: { order: request.orderId ?? nonce },
        } as const
        this.#world.madeAtMs.set(nonce, time.nowMs + clockOffsetMs)
        const requester = { actor: keyId, person: keyId }
        const { approvalId, idempotencyKey } = request
        const requestKey = idempotencyKey === undefined ? undefined : { callerId: keyId, idempotencyKey }
        const outcome = await issueProof(this, { hold, requestKey, approvalId, requester })
        if (outcome.decision === 'approved') return { is: 'granted', nonce }
        if (outcome.decision === 'replayed') {
          return { is: 'granted', nonce: outcome.hold.nonce, isReplay: true }
        }
        if (outcome.decision === 'denied') {
          return { is: 'denied', code: outcome.code, approvalId: outcome.approval?.id }
        }
        return { is: 'conflict', detail: outcome.decision }
      }
      case 'evaluate': {
        const id = this.#ids.next('transaction')
        const { domain: merchantDomain } = request
        const proposal = {
          ...paymentOf(request),
          ...scope,
          id,
          merchantDomain,
          category,
          createdAtMs: atMs,
        }
        const outcome = await this.run(evaluate, proposal)
        return outcome.decision === 'approved'
          ? { is: 'approved', transactionId: id }
          : { is: 'denied', code: outcome.code, transactionId: id }
      }
      case 'verify': {
        const { nonce, domain: merchantDomain, idempotencyKey } = request
        const payerId = accountId
        // The proof itself, as signed when it was issued.
        const proof = findRow(database, payments, { accountId, nonce })
        if (!proof) return { is: 'broken', text: `${nonce} was granted and is not there` }
        const { agentId, mandateId, amountText, currency, resourceUrl } = proof
        const terms = { agentId, mandateId, amountText, currency, resourceUrl }
        const attempt = { payerId, caller, nonce, ...terms, merchantDomain, category, idempotencyKey, nowMs }
        const outcome = isLate(proof)
          ? await this.run(settleLate, attempt)
          : await this.run(capture, { ...attempt, transactionId: this.#newTransaction() })
        if (outcome.outcome === 'failed') return { is: 'failed', reason: outcome.reason }
        if (outcome.outcome === 'refused') {
          if (outcome.code === 'invalid_api_key') return { is: 'unauthorized' }
          const isReleased = outcome.code === 'seller_not_yours'
          return isReleased ? { is: 'conflict', detail: outcome.code } : { is: 'broken', text: outcome.code }
        }
        return {
          is: 'verified',
          transactionId: outcome.transactionId,
          isReplay: outcome.outcome === 'replayed',
        }
      }
      case 'authorize': {
        const { nonce, domain: merchantDomain, idempotencyKey } = request
        const payerId = accountId
        const proof = findRow(database, payments, { accountId, nonce })
        if (!proof) return { is: 'broken', text: `${nonce} was granted and is not there` }
        const { agentId, mandateId, amountText, currency, resourceUrl } = proof
        const terms = { agentId, mandateId, amountText, currency, resourceUrl, category: null }
        const attempt = { payerId, caller, nonce, ...terms, merchantDomain, idempotencyKey, nowMs }
        const authorization = { ...attempt, captureSeconds, event: event('payment.authorized', nonce) }
        const outcome = isLate(proof)
          ? await this.run(settleLateAuthorization, attempt)
          : await this.run(authorize, authorization)
        if (outcome.outcome === 'failed') return { is: 'failed', reason: outcome.reason }
        if (outcome.outcome === 'refused') return refusalOf(outcome.code)
        return { is: 'authorized', isReplay: outcome.outcome === 'replayed' }
      }
      case 'capture-authorized': {
        const { nonce, idempotencyKey } = request
        const outcome = await this.run(captureAuthorized, {
          payerId: accountId,
          caller,
          nonce,
          amountMicro: request.amountMicro as MicroUsdc | null,
          idempotencyKey,
          transactionId: this.#newTransaction(),
          nowMs,
        })
        if (outcome.outcome === 'elsewhere') return { is: 'broken', text: outcome.payerId }
        if (outcome.outcome === 'refused') return refusalOf(outcome.code)
        const { transactionId } = outcome
        return { is: 'verified', transactionId, isReplay: outcome.outcome === 'replayed' }
      }
      case 'void-authorized': {
        const { nonce } = request
        const wish = { payerId: accountId, caller, nonce, nowMs, event: event('authorization.voided', nonce) }
        const outcome = await this.run(voidAuthorized, wish)
        if (outcome.outcome === 'elsewhere') return { is: 'broken', text: outcome.payerId }
        if (outcome.outcome === 'refused') return refusalOf(outcome.code)
        return { is: 'proof', status: outcome.hold.status, transactionId: null }
      }
      case 'refund': {
        const { transactionId, idempotencyKey } = request
        const paid = (database.rowsOf(payments) as unknown as PaymentRow[]).find(
          (row) => row.transactionId === transactionId,
        )
        if (!paid) return { is: 'broken', text: `${transactionId} was paid and is not there` }
        const amountMicro = request.amountMicro as MicroUsdc
        const refundId = this.#newTransaction()
        const ofRefund = () => event('payment.refunded', refundId)
        const outcome = await this.run(refund, {
          caller,
          payerId: accountId,
          nonce: paid.nonce,
          amountText: formatSum(amountMicro),
          amountMicro,
          reason: null,
          idempotencyKey,
          refundId,
          nowMs,
          events: { payer: ofRefund(), own: ofRefund() },
        })
        if (outcome.outcome === 'refused') return refusalOf(outcome.code)
        return { is: 'refunded', refundId: outcome.refundId, isReplay: outcome.outcome === 'replayed' }
      }
      case 'decide': {
        const { mandateId, approvalId, verdict } = request
        const outcome = await this.run(decideApproval, [
          { ...scope, mandateId, id: approvalId },
          { verdict, actor: keyId, person: keyId, note: null, isOwner: true },
          {
            decided: event(`approval.${verdict}`, approvalId),
            amended: event('mandate.amended', mandateId),
          },
        ])
        if (outcome === 'not_found') return { is: 'broken', text: `${approvalId} is not there` }
        return typeof outcome === 'string'
          ? { is: 'conflict', detail: outcome }
          : { is: 'decided', status: outcome.status }
      }
      case 'amend-mandate': {
        const { mandateId, version } = request
        const maxPerTransactionMicro = request.maxPaymentMicro as MicroUsdc
        const terms = { maxPerTransactionText: formatSum(maxPerTransactionMicro), maxPerTransactionMicro }
        const outcome = await this.run(amendMandate, [
          { ...scope, id: mandateId },
          {},
          { terms, expectedVersion: version, mayWiden: true, endsHolds: request.endsHolds ?? false },
          event('mandate.amended', mandateId),
        ])
        if (outcome.outcome === 'amended') return { is: 'amended', version: outcome.mandate.version }
        const isRefused = outcome.outcome === 'refused' && outcome.code !== 'not_found'
        return isRefused
          ? { is: 'conflict', detail: outcome.code }
          : { is: 'broken', text: JSON.stringify(outcome.outcome) }
      }
      case 'request-increase': {
        const approvalId = this.#ids.next('approval')
        const increase = { maxTotalText: formatSum(request.maxTotalMicro as MicroUsdc) }
        const requester = { actor: keyId, person: keyId }
        const outcome = await this.run(requestIncrease, [
          { ...scope, id: request.mandateId },
          {},
          { approvalId, increase, message: 'more', requester },
          event('approval.requested', approvalId),
        ])
        return typeof outcome === 'string'
          ? { is: 'conflict', detail: outcome }
          : { is: 'requested', approvalId: outcome.id }
      }
      case 'stop-all': {
        const stopId = this.#ids.ofStop(scope, request.name)
        void this.#mayCrashSoon()
        const { failedIds } = await stopAll({ ...this.#ofAll(scope, keyId), stopId })
        return failedIds.length > 0 ? { is: 'unavailable' } : { is: 'done' }
      }
      case 'undo-stop': {
        const stopId = request.name === null ? null : this.#ids.ofStop(scope, request.name)
        const { failure } = await resumeAll({ ...this.#ofAll(scope, keyId), stopId })
        return failure ? { is: 'unavailable' } : { is: 'done' }
      }
      case 'void-proof': {
        const { nonce } = request
        const hold = await this.run(voidProof, [{ ...scope, nonce }, {}, event('proof.voided', nonce)])
        return hold
          ? { is: 'proof', status: hold.status, transactionId: hold.transactionId }
          : { is: 'broken', text: `${nonce} is not there` }
      }
      case 'disable-collector':
      case 'enable-collector':
      case 'disable-payer':
      case 'enable-payer': {
        const [verb, party] = request.act.split('-')
        const moved = party === 'payer' ? accountId : collector.accountId
        const to = verb === 'disable' ? 'disabled' : 'active'
        await this.run(moveAccount, [moved, to, { atMs: nowMs, events: [] }])
        const atPayerMs = nowMs + clockOffsetMs
        const voided = () => ({ ...event('proofs.voided', moved), accountId: moved, createdAtMs: atPayerMs })
        if (to === 'disabled') await voidAll(this, { accountId: moved, environment }, voided)
        return { is: 'done' }
      }
      case 'release-domain': {
        const registration = { environment, domain: collectorDomain } as const
        const events = { own: event('seller.released', ''), theirs: event('seller.released', '') }
        await this.run(releaseDomain, [registration, events])
        return { is: 'done' }
      }
      case 'register-seller': {
        const { accountId: sellerAccountId } = collector
        const id = this.#ids.next('seller')
        const seller = newSeller({ accountId: sellerAccountId, environment }, id, nowMs)
        await this.run(createSeller, [seller, event('seller.created', id)])
        return { is: 'done' }
      }
      case 'read-mandate': {
        const row = findRow(database, mandates, { accountId, id: request.mandateId })
        if (!row) return { is: 'broken', text: `${request.mandateId} is not there` }
        return {
          is: 'mandate',
          status: row.status,
          spentMicro: row.spentMicro,
          heldMicro: row.heldMicro,
          authorizedMicro: row.authorizedMicro,
          version: row.version,
        }
      }
      case 'look-up': {
        const proof = findRow(database, payments, { accountId, nonce: request.nonce })
        const mandate = proof && findRow(database, mandates, { accountId, id: proof.mandateId })
        if (!proof || !mandate) return { is: 'broken', text: `${request.nonce} is not there` }
        return { is: 'proof', status: statusOf(proof, mandate, atMs), transactionId: proof.transactionId }
      }
      default:
        return request satisfies never
    }
  }

  sweep(mandate: { readonly accountId: string; readonly mandateId: string }): Promise<unknown> {
    const nowMs = this.#world.time.nowMs + this.clockSkewMs + this.#world.clockOffsetMs()
    return this.run(releaseExpiredPayments, { ...mandate, nowMs, countId: this.#ids.next('transaction') })
  }

  /** Advances the test clock of an account. */
  advanceClock(scope: Scope, byMs: number): Promise<unknown> {
    const details = { id: this.#ids.next('auditEvent'), subjectId: scope.accountId, data: {} }
    const atMs = this.#world.time.nowMs + this.#world.clockOffsetMs()
    const actor: Caller = { ...scope, keyId: 'clock', role: 'owner', agentId: null }
    const event = auditEvent(actor, scope, { ...details, type: 'test_clock.advanced', atMs })
    return this.run(advanceClock, [scope, byMs, event])
  }

  /** Adds some entries to the console's sums. */
  addUpActivity(): Promise<unknown> {
    return this.#rollup.addSome(0)
  }

  #newRollup(): Rollup {
    const { database } = this.#world
    // All parts of a history together are shorter than what a step adds up.
    const findParts: FindParts = async (after, limit) =>
      (database.rowsOf(activityParts) as unknown as ActivityPartsRow[])
        .map(({ accountId, id, parts }) => ({ accountId, id, length: parts.length }))
        .sort((one, other) => (isBefore(one, other) ? -1 : 1))
        .filter((part) => !after || isBefore(after, part))
        .slice(0, limit)
    return new Rollup({ ledger: this, findParts })
  }

  /** Continues a stop that could not stop every mandate or was interrupted by a crash. */
  continueStop({ accountId, environment, actor, stopId, press }: RunningStop): Promise<unknown> {
    const stop = { ...this.#ofAll({ accountId, environment }, actor), stopId }
    return continueStop({ ...stop, press, isClosing: () => false })
  }

  #ofAll(scope: Scope, actor: string) {
    const now = () => this.#world.time.nowMs + this.clockSkewMs
    return { ledger: this, scope, actor, now, nextEventId: () => this.#ids.next('auditEvent') }
  }

  #newTransaction(): string {
    const id = this.#ids.next('transaction')
    this.#world.madeAtMs.set(id, this.#world.time.nowMs + this.#world.clockOffsetMs())
    return id
  }

  #start(): Ledger {
    const { random, time, database, earlierRows, faultPercent, changeDriver } = this.#world
    const life = this.#life
    const isCrashed = () => life.isOver
    const nowMs = () => time.nowMs + this.#world.clockOffsetMs()
    const onCommitted = (changes: readonly NetChange[], checkedAtMs: number) =>
      noteWritten(this.#world, changes, { nowMs: nowMs(), checkedAtMs })
    return new Ledger({
      driver: changeDriver(
        createFaultyDriver({
          database,
          earlierRows,
          random,
          sleep: time.sleep,
          faultPercent,
          isCrashed,
          nowMs,
          onCommitted,
        }),
      ),
      stopwatch: { nowMs: () => time.nowMs, sleep: time.sleep },
      random: () => random.below(1_000) / 1_000,
      lanes: 2,
      beside:
        random.below(2) === 0
          ? undefined
          : { least: 1 + random.below(8), stalledAfterMs: 10 + random.below(50) },
      maxBatch: 1 + random.below(16),
    })
  }
}

/** The answer for an operation's refusal. */
function refusalOf(code: string): Answer {
  if (code === 'invalid_api_key') return { is: 'unauthorized' }
  return { is: 'conflict', detail: code }
}

/** The operation, which records the proofs that it denies. */
function noteDenied<Call, Outcome>(
  { deniedNonces }: World,
  operation: Operation<Call, Outcome>,
): Operation<Call, Outcome> {
  if (operation.name !== 'issueProof') return operation
  return {
    ...operation,
    decide(call, facts) {
      const decided = operation.decide(call, facts)
      const { decision } = decided.outcome as IssueOutcome
      if (decision === 'denied') deniedNonces.add((call as ProofCall).hold.nonce)
      return decided
    },
  }
}

/**
 * Records when proofs were released and written, by their nonces, and captures, by their transactions. What was written
 * counts from when the server had checked it: a commit may arrive later.
 */
function noteWritten(
  { writtenAtMs, releasedAtMs, database }: World,
  changes: readonly NetChange[],
  { nowMs, checkedAtMs }: { readonly nowMs: number; readonly checkedAtMs: number },
): void {
  const release = ({ nonce }: PaymentRow) => {
    if (!releasedAtMs.has(nonce)) releasedAtMs.set(nonce, nowMs)
  }
  for (const { table, before, now } of changes) {
    if (table === mandates && before?.['epoch'] !== now?.['epoch']) {
      // A new epoch releases what is open in earlier ones.
      const { id, epoch } = now as unknown as MandateRow
      for (const payment of database.rowsOf(payments) as unknown as PaymentRow[]) {
        if (payment.mandateId === id && payment.status === 'open' && payment.epoch < epoch) release(payment)
      }
    }
    if (table !== payments || !now) continue
    const payment = now as unknown as PaymentRow
    const { nonce, status, transactionId } = payment
    if (!before) writtenAtMs.set(nonce, checkedAtMs)
    if (transactionId !== null && before?.['transactionId'] === null)
      writtenAtMs.set(transactionId, checkedAtMs)
    if (status === 'expired' || status === 'voided') release(payment)
  }
}

const moves = {
  'pause-mandate': { to: 'paused', type: 'mandate.paused' },
  'resume-mandate': { to: 'active', type: 'mandate.resumed' },
  'revoke-mandate': { to: 'revoked', type: 'mandate.revoked' },
} as const

function isBefore(
  one: Pick<ActivityPartsRow, 'accountId' | 'id'>,
  other: Pick<ActivityPartsRow, 'accountId' | 'id'>,
): boolean {
  return one.accountId === other.accountId ? one.id < other.id : one.accountId < other.accountId
}
