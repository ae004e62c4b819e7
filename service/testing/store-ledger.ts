// Longer than 400 lines: it has a method for every operation that tests of the stores use.
import assert from 'node:assert/strict'

import type { Role } from '@purser/wire/roles'
import type { AuditEventType } from '@purser/wire/audit-log'
import type { Environment } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'

import { hashApiKey, hintOf } from '../src/domain/api-key.ts'
import type { Increase } from '../src/domain/approval.ts'
import { auditEvent, systemActor } from '../src/domain/audit.ts'
import { formatSum, parseAmount } from '../src/domain/money.ts'
import { holdDefaults } from '../src/domain/new-records.ts'
import { holdGraceMs, validityWindowMs } from '../src/domain/proof.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Caller,
  Hold,
  ListedSeller,
  Mandate,
  MandateTerms,
  Scope,
  Seller,
} from '../src/domain/records.ts'
import { createIds, type Ids } from '../src/ids.ts'
import type {
  AgentFilter,
  Amendment,
  ApprovalVerdictCall,
  Authorization,
  AuthorizeOutcome,
  Capture,
  CaptureOutcome,
  NewApiKey,
  ProofOutcome,
  ProposedTransaction,
  RecordKey,
  Refund,
  RefundOutcome,
  SettleOutcome,
  Settlement,
  Store,
  VoidOutcome,
} from '../src/store/store.ts'
import { generousMandate } from './ledgers/generous-mandate.ts'
import { seededRandom } from './seeded-random.ts'

/** The lifetime of a hold: the validity window and the minute of grace. */
export const holdLifeMs = validityWindowMs + holdGraceMs

export const shopDomain = 'api.example.com'

/** An account, with a caller of the role `owner` in each environment. */
export interface Tenant extends Readonly<Record<Environment, Caller>> {
  readonly account: Account
}

/** A store for one test. */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and removes everything that it left. */
  readonly close: () => Promise<void>
  /** Closes the store and reopens it on the same data; absent for a store that keeps nothing. */
  readonly reopen?: () => Promise<OpenedStore>
}

/**
 * A store, with short methods for its operations in tests. Ids and times are the same in every run; ledgers of one store
 * have different seeds.
 */
export class StoreLedger {
  readonly clock = { nowMs: Date.UTC(2026, 10, 20, 12) }
  readonly ids: Ids
  #opened: OpenedStore

  constructor(opened: OpenedStore, seed = 1) {
    this.#opened = opened
    this.ids = createIds(() => this.clock.nowMs, seededRandom(seed).bytes)
  }

  get store(): Store {
    return this.#opened.store
  }

  close(): Promise<void> {
    return this.#opened.close()
  }

  /** Reopens the store on its data; false if this kind of store keeps nothing. */
  async reopen(): Promise<boolean> {
    if (!this.#opened.reopen) return false
    this.#opened = await this.#opened.reopen()
    return true
  }

  newAccount(fields: Partial<Account> = {}): Account {
    const id = this.ids.next('account')
    const createdAtMs = this.clock.nowMs
    return {
      id,
      name: 'Shop',
      email: 'shop@example.com',
      idpUserId: `idp_${id}`,
      createdAtMs,
      disabledAtMs: null,
      ...fields,
    }
  }

  /** A key's record; its text is its id. */
  newKey(scope: Scope, role: Role, fields: Partial<ApiKey> = {}): NewApiKey {
    const id = this.ids.next('apiKey')
    return {
      ...scopeOf(scope),
      id,
      role,
      agentId: null,
      label: null,
      hint: hintOf(id),
      createdAtMs: this.clock.nowMs,
      revokedAtMs: null,
      ...fields,
      secretHash: hashApiKey(id),
    }
  }

  newEvent(scope: Scope, type: AuditEventType, subjectId: string): AuditEvent {
    const id = this.ids.next('auditEvent')
    return auditEvent(systemActor, scope, { id, type, subjectId, data: {}, atMs: this.clock.nowMs })
  }

  async tenant(): Promise<Tenant> {
    const account = this.newAccount()
    const sandbox = this.newKey({ accountId: account.id, environment: 'sandbox' }, 'owner')
    const production = this.newKey({ accountId: account.id, environment: 'production' }, 'owner')
    assert.equal(await this.store.createAccount(account, [sandbox, production], []), 'created')
    return { account, sandbox: callerOf(sandbox), production: callerOf(production) }
  }

  async key(scope: Scope, role: Role, fields: Partial<ApiKey> = {}): Promise<Caller> {
    const key = this.newKey(scope, role, fields)
    assert.equal(await this.store.issueApiKey(key, this.newEvent(key, 'api_key.created', key.id)), 'created')
    return callerOf(key)
  }

  revokeKey(key: { readonly accountId: string; readonly keyId: string }, environment: Environment) {
    const { accountId, keyId: id } = key
    const event = this.newEvent({ accountId, environment }, 'api_key.revoked', id)
    return this.store.revokeApiKey({ accountId, id }, event)
  }

  newAgent(scope: Scope, fields: Partial<Agent> = {}): Agent {
    return {
      ...scopeOf(scope),
      id: this.ids.next('agent'),
      name: 'research-bot',
      description: null,
      capabilities: [],
      budgetPath: null,
      status: 'active',
      createdAtMs: this.clock.nowMs,
      revokedAtMs: null,
      ...fields,
    }
  }

  async agent(scope: Scope, fields: Partial<Agent> = {}): Promise<Agent> {
    const agent = this.newAgent(scope, fields)
    await this.store.createAgent(agent, this.newEvent(agent, 'agent.created', agent.id))
    return agent
  }

  revokeAgent(agent: Scope & { readonly id: string }) {
    return this.store.revokeAgent(agent, this.newEvent(agent, 'agent.revoked', agent.id))
  }

  newMandate(agent: Agent, fields: Partial<Mandate> = {}): Mandate {
    const { maxTotalText = '100.00', maxPerTransactionText = '10.00' } = fields
    return generousMandate({
      ...scopeOf(agent),
      id: this.ids.next('mandate'),
      agentId: agent.id,
      maxTotalText,
      maxTotalMicro: parseAmount(maxTotalText),
      maxPerTransactionText,
      maxPerTransactionMicro: parseAmount(maxPerTransactionText),
      allowedSellers: [shopDomain],
      createdAtMs: this.clock.nowMs,
      ...fields,
    })
  }

  createMandate(mandate: Mandate) {
    return this.store.createMandate(mandate, this.newEvent(mandate, 'mandate.created', mandate.id))
  }

  /** Creates a mandate, with a new agent if only a scope is given. */
  async mandate(agentOrScope: Agent | Scope, fields: Partial<Mandate> = {}): Promise<Mandate> {
    const agent = 'name' in agentOrScope ? agentOrScope : await this.agent(agentOrScope)
    const mandate = this.newMandate(agent, fields)
    assert.equal(await this.createMandate(mandate), 'created')
    return mandate
  }

  moveMandate(mandate: Scope & { readonly id: string }, to: MandateStatus) {
    const type = ({ active: 'resumed', paused: 'paused', revoked: 'revoked' } as const)[to]
    return this.store.moveMandate(mandate, to, this.newEvent(mandate, `mandate.${type}`, mandate.id))
  }

  /** Amends a mandate, as an owner who has seen its first version. */
  amend(
    mandate: RecordKey,
    terms: Partial<MandateTerms>,
    options: Partial<Amendment> = {},
    filter: AgentFilter = {},
  ) {
    const amendment = { terms, expectedVersion: 1, mayWiden: true, endsHolds: false, ...options }
    const event = this.newEvent(mandate, 'mandate.amended', mandate.id)
    return this.store.amendMandate({ ...scopeOf(mandate), id: mandate.id }, filter, amendment, event)
  }

  /** Requests a proof, with an approval if given. */
  ask(
    mandate: Mandate,
    amountText: string,
    options: { readonly approvalId?: string; readonly hold?: Hold } = {},
  ): Promise<ProofOutcome> {
    const { approvalId, hold = this.newHold(mandate, amountText) } = options
    const requester = { actor: 'requester', person: 'requester' }
    return this.store.issueProof(hold, undefined, { approvalId, requester })
  }

  /** Decides on an approval, as an owner. */
  decide(
    mandate: RecordKey,
    approvalId: string,
    verdict: ApprovalVerdictCall['verdict'],
    fields: Partial<ApprovalVerdictCall> = {},
  ) {
    const { person = 'owner' } = fields
    const call = { actor: person, person, verdict, note: null, isOwner: true, ...fields }
    const key = { ...scopeOf(mandate), id: approvalId, mandateId: mandate.id }
    return this.store.decideApproval(key, call, {
      decided: this.newEvent(mandate, `approval.${verdict}`, approvalId),
      amended: this.newEvent(mandate, 'mandate.amended', mandate.id),
    })
  }

  /** Requests wider terms of a mandate, as its agent. */
  requestIncrease(mandate: RecordKey, increase: Increase) {
    const approvalId = this.ids.next('approval')
    const requester = { actor: 'requester', person: 'requester' }
    const request = { approvalId, increase, message: 'more', requester }
    const event = this.newEvent(mandate, 'approval.requested', approvalId)
    return this.store.requestIncrease({ ...scopeOf(mandate), id: mandate.id }, {}, request, event)
  }

  newSeller(scope: Scope, domain: string = shopDomain, fields: Partial<Seller> = {}): ListedSeller {
    const id = this.ids.next('seller')
    const createdAtMs = this.clock.nowMs
    const seller = { ...scopeOf(scope), id, name: 'Data shop', domain, priceConfig: '{}', createdAtMs }
    return { ...seller, isPending: false, ...fields }
  }

  createSeller(seller: ListedSeller) {
    return this.store.createSeller(seller, this.newEvent(seller, 'seller.created', seller.id))
  }

  async seller(scope: Scope, domain: string = shopDomain): Promise<Seller> {
    const seller = this.newSeller(scope, domain)
    assert.equal(await this.createSeller(seller), 'created')
    return seller
  }

  /** Releases a domain, as an operator of the scope. */
  releaseDomain(operator: Scope, domain: string = shopDomain) {
    const event = () => this.newEvent(operator, 'seller.released', '')
    const { environment } = operator
    return this.store.releaseDomain({ environment, domain }, { own: event(), theirs: event() })
  }

  newHold(mandate: Mandate, amountText = '1.00', fields: Partial<Hold> = {}): Hold {
    return {
      ...scopeOf(mandate),
      nonce: this.ids.nonce(),
      agentId: mandate.agentId,
      mandateId: mandate.id,
      amountText,
      amountMicro: parseAmount(amountText),
      currency: 'USDC',
      resourceUrl: `https://${shopDomain}/data`,
      ...holdDefaults,
      issuedAtMs: this.clock.nowMs,
      expiresAtMs: this.clock.nowMs + holdLifeMs,
      ...fields,
    }
  }

  /** A granted hold. */
  async hold(mandate: Mandate, amountText = '1.00', fields: Partial<Hold> = {}): Promise<Hold> {
    const hold = this.newHold(mandate, amountText, fields)
    assert.deepEqual(await this.store.issueProof(hold), { decision: 'approved' })
    return hold
  }

  newCapture(caller: Caller, hold: Hold, fields: Partial<Capture> = {}): Capture {
    return {
      caller,
      nonce: hold.nonce,
      agentId: hold.agentId,
      mandateId: hold.mandateId,
      amountText: hold.amountText,
      currency: hold.currency,
      resourceUrl: hold.resourceUrl,
      merchantDomain: shopDomain,
      idempotencyKey: null,
      transactionId: this.ids.next('transaction'),
      nowMs: this.clock.nowMs,
      ...fields,
    }
  }

  capture(caller: Caller, hold: Hold, fields: Partial<Capture> = {}): Promise<CaptureOutcome> {
    return this.store.capture(this.newCapture(caller, hold, fields))
  }

  /** Makes a payment; returns the transaction's id. */
  async pay(caller: Caller, hold: Hold, fields: Partial<Capture> = {}): Promise<string> {
    const outcome = await this.capture(caller, hold, fields)
    assert(outcome.outcome === 'captured', JSON.stringify(outcome))
    return outcome.transactionId
  }

  authorize(caller: Caller, hold: Hold, fields: Partial<Authorization> = {}): Promise<AuthorizeOutcome> {
    const { transactionId: _transactionId, ...attempt } = this.newCapture(caller, hold)
    const event = this.newEvent(hold, 'payment.authorized', hold.nonce)
    return this.store.authorize({ ...attempt, captureSeconds: 600, ...fields }, event)
  }

  /** An authorized hold. */
  async authorized(caller: Caller, hold: Hold, fields: Partial<Authorization> = {}): Promise<Hold> {
    const outcome = await this.authorize(caller, hold, fields)
    assert(outcome.outcome === 'authorized', outcome.outcome)
    return outcome.hold
  }

  /** Captures an authorized hold: an amount, or all of it. */
  settle(
    caller: Caller,
    { nonce }: Pick<Hold, 'nonce'>,
    amountText?: string,
    fields: Partial<Settlement> = {},
  ): Promise<SettleOutcome> {
    return this.store.captureAuthorized({
      caller,
      nonce,
      amountMicro: amountText === undefined ? null : parseAmount(amountText),
      idempotencyKey: null,
      transactionId: this.ids.next('transaction'),
      nowMs: this.clock.nowMs,
      ...fields,
    })
  }

  /** Refunds a payment, each time with a new key unless one is given. */
  refund(
    caller: Caller,
    transactionId: string,
    amountText: string,
    fields: Partial<Refund> = {},
  ): Promise<RefundOutcome> {
    const refundId = this.ids.next('transaction')
    const event = () => this.newEvent(caller, 'payment.refunded', refundId)
    return this.store.refund(
      {
        caller,
        transactionId,
        refundId,
        amountText,
        amountMicro: parseAmount(amountText),
        reason: null,
        idempotencyKey: refundId,
        nowMs: this.clock.nowMs,
        ...fields,
      },
      { payer: event(), own: event() },
    )
  }

  /** Voids an authorized hold, as its merchant. */
  voidAuthorized(caller: Caller, { nonce }: Pick<Hold, 'nonce'>): Promise<VoidOutcome> {
    const event = this.newEvent(caller, 'authorization.voided', nonce)
    return this.store.voidAuthorized({ caller, nonce, nowMs: this.clock.nowMs }, event)
  }

  /** Voids a hold, as its owner, or as the agent of the filter. */
  voidProof(hold: Scope & { readonly nonce: string }, filter: AgentFilter = {}) {
    const event = this.newEvent(hold, 'proof.voided', hold.nonce)
    return this.store.voidProof(hold, filter, event)
  }

  newProposal(
    mandate: Pick<Mandate, 'accountId' | 'environment' | 'agentId' | 'id'>,
    fields: Partial<ProposedTransaction> = {},
  ): ProposedTransaction {
    const { amountText = '1.00' } = fields
    return {
      ...scopeOf(mandate),
      id: this.ids.next('transaction'),
      agentId: mandate.agentId,
      mandateId: mandate.id,
      amountText,
      amountMicro: parseAmount(amountText),
      currency: 'USDC',
      resourceUrl: `https://${shopDomain}/data`,
      merchantDomain: shopDomain,
      category: null,
      createdAtMs: this.clock.nowMs,
      ...fields,
    }
  }

  /** The sums of a mandate as text: spent and held. */
  async sums(mandate: Scope & { readonly id: string }): Promise<{ spent: string; held: string }> {
    const { spentMicro, heldMicro } =
      (await this.store.findMandate(mandate)) ?? assert.fail('no such mandate')
    return { spent: formatSum(spentMicro), held: formatSum(heldMicro) }
  }

  /** The sums of a mandate as text, with what is authorized. */
  async allSums(mandate: Scope & { readonly id: string }) {
    const { authorizedMicro } = (await this.store.findMandate(mandate)) ?? assert.fail('no such mandate')
    return { ...(await this.sums(mandate)), authorized: formatSum(authorizedMicro) }
  }

  /** Whether an id has any effects: the types of the events about it, oldest first. */
  async eventsAbout(scope: Scope, subjectId: string): Promise<AuditEvent[]> {
    const { items } = await this.store.listAuditEvents(scope, { subjectId }, { limit: 200 })
    return items.toReversed()
  }

  /** Sweeps until nothing expired is left; returns the number of released holds. */
  async sweep(): Promise<number> {
    let ended = 0
    for (let idleRounds = 0; idleRounds < 2;) {
      const more = await this.store.releaseExpiredHolds(this.clock.nowMs, 1_000)
      ended += more
      idleRounds = more === 0 ? idleRounds + 1 : 0
    }
    return ended
  }
}

export function scopeOf({ accountId, environment }: Scope): Scope {
  return { accountId, environment }
}

function callerOf({ accountId, environment, id, role, agentId }: NewApiKey): Caller {
  return { accountId, environment, keyId: id, role, agentId }
}
