import { auditEvent } from '../src/domain/audit.ts'
import type { Limit } from '../src/domain/limits.ts'
import { formatSum, type MicroUsdc } from '../src/domain/money.ts'
import { holdDefaults } from '../src/domain/new-records.ts'
import { holdGraceMs, validityWindowMs } from '../src/domain/proof.ts'
import type { AuditEvent, Caller, Hold, Mandate } from '../src/domain/records.ts'
import type { Ids } from '../src/ids.ts'
import type { Ledger, RunOptions } from '../src/store/ledger/ledger.ts'
import type { Operation } from '../src/store/ledger/operation.ts'
import { createAccount } from '../src/store/ledger/operations/accounts.ts'
import { createAgent } from '../src/store/ledger/operations/agents.ts'
import { createBudget } from '../src/store/ledger/operations/limits/budgets.ts'
import { createMandate } from '../src/store/ledger/operations/mandates.ts'
import { capture, type Payer } from '../src/store/ledger/operations/captures.ts'
import { issueProof } from '../src/store/ledger/operations/payments.ts'
import type { Capture, ProposedTransaction } from '../src/store/store.ts'
import { generousMandate } from './ledgers/generous-mandate.ts'

export interface TenantOptions {
  readonly ledger: Ledger
  readonly ids: Ids
  /** Milliseconds since 1970. */
  readonly clock: { ms: number }
}

/** An account with an agent, and its operations on a ledger. */
export class LedgerTenant {
  readonly caller: Caller
  readonly agentId: string
  readonly #options: TenantOptions

  private constructor(options: TenantOptions, caller: Caller, agentId: string) {
    this.#options = options
    this.caller = caller
    this.agentId = agentId
  }

  static async create(options: TenantOptions): Promise<LedgerTenant> {
    const { ledger, ids, clock } = options
    const scope = { accountId: ids.next('account'), environment: 'sandbox' } as const
    const caller: Caller = { ...scope, keyId: ids.next('apiKey'), role: 'owner', agentId: null }
    const account = { name: 'tenant', email: 'tenant@example.com', idpUserId: scope.accountId }
    const key = { id: caller.keyId, role: 'owner', agentId: null, label: null, hint: '' } as const
    await ledger.run(createAccount, [
      { ...account, id: scope.accountId, createdAtMs: clock.ms, disabledAtMs: null },
      [
        {
          ...scope,
          ...key,
          secretHash: Buffer.from(scope.accountId),
          createdAtMs: clock.ms,
          revokedAtMs: null,
        },
      ],
      [],
    ])
    const tenant = new LedgerTenant(options, caller, ids.next('agent'))
    const agent = {
      ...scope,
      id: tenant.agentId,
      name: 'buyer',
      description: null,
      capabilities: [],
      budgetPath: null,
    }
    await ledger.run(createAgent, [
      { ...agent, status: 'active', createdAtMs: clock.ms, revokedAtMs: null },
      tenant.event('agent.created', tenant.agentId),
    ])
    return tenant
  }

  /** The same tenant on another ledger over the same database. */
  on(ledger: Ledger): LedgerTenant {
    return new LedgerTenant({ ...this.#options, ledger }, this.caller, this.agentId)
  }

  run<Call, Outcome>(
    operation: Operation<Call, Outcome>,
    call: Call,
    options?: RunOptions,
  ): Promise<Outcome> {
    return this.#options.ledger.run(operation, call, options)
  }

  async mandate(
    maxTotalMicro = 1_000_000_000_000n as MicroUsdc,
    terms: Partial<Pick<Mandate, 'limits' | 'budgetPath'>> = {},
  ): Promise<string> {
    const { ledger, ids, clock } = this.#options
    const { accountId, environment } = this.caller
    const id = ids.next('mandate')
    const mandate = generousMandate({
      accountId,
      environment,
      id,
      agentId: this.agentId,
      maxTotalMicro,
      maxPerTransactionMicro: maxTotalMicro,
      createdAtMs: clock.ms,
      ...terms,
    })
    await ledger.run(createMandate, [mandate, this.event('mandate.created', id)])
    return id
  }

  /** A shared budget whose limit is never reached. */
  async budget(): Promise<string> {
    const { ledger, ids, clock } = this.#options
    const { accountId, environment } = this.caller
    const id = ids.next('budget')
    const limits: Limit[] = [
      {
        id: 'limit_1',
        window: 'lifetime',
        maxAmountText: '1000000.00',
        maxAmountMicro: '1000000000000',
        maxCount: null,
        per: null,
        action: 'deny',
      },
    ]
    const times = { createdAtMs: clock.ms, updatedAtMs: clock.ms, frozenAtMs: null, version: 1 }
    const budget = { accountId, environment, ...times, id, name: 'team', ancestors: [], limits }
    await ledger.run(createBudget, [budget, this.event('budget.created', id)])
    return id
  }

  hold(mandateId: string, amountMicro = 1_000_000n as MicroUsdc): Hold {
    const { ids, clock } = this.#options
    const { accountId, environment } = this.caller
    return {
      accountId,
      environment,
      nonce: ids.nonce(),
      agentId: this.agentId,
      mandateId,
      amountText: formatSum(amountMicro),
      amountMicro,
      currency: 'USDC',
      resourceUrl: 'https://shop.example/item',
      ...holdDefaults,
      issuedAtMs: clock.ms,
      expiresAtMs: clock.ms + validityWindowMs + holdGraceMs,
    }
  }

  /** A payment that can be captured. */
  async proof(mandateId: string, amountMicro?: MicroUsdc): Promise<Hold> {
    const hold = this.hold(mandateId, amountMicro)
    const outcome = await this.#options.ledger.run(issueProof, { hold })
    if (outcome.decision !== 'approved') throw new Error(JSON.stringify(outcome))
    return hold
  }

  captureCall({ nonce, mandateId, amountText, currency, resourceUrl }: Hold): Capture & Payer {
    return {
      payerId: this.caller.accountId,
      caller: this.caller,
      nonce,
      agentId: this.agentId,
      mandateId,
      amountText,
      currency,
      resourceUrl,
      merchantDomain: 'shop.example',
      idempotencyKey: null,
      transactionId: this.#options.ids.next('transaction'),
      nowMs: this.#options.clock.ms,
    }
  }

  capture(hold: Hold) {
    return this.#options.ledger.run(capture, this.captureCall(hold))
  }

  proposal(mandateId: string): ProposedTransaction {
    const { ids, clock } = this.#options
    const { accountId, environment, agentId, amountText, amountMicro, currency, resourceUrl } =
      this.hold(mandateId)
    return {
      accountId,
      environment,
      id: ids.next('transaction'),
      agentId,
      mandateId,
      amountText,
      amountMicro,
      currency,
      resourceUrl,
      merchantDomain: 'shop.example',
      category: null,
      createdAtMs: clock.ms,
    }
  }

  event(type: AuditEvent['type'], subjectId: string): AuditEvent {
    const { ids, clock } = this.#options
    return auditEvent(this.caller, this.caller, {
      id: ids.next('auditEvent'),
      type,
      subjectId,
      data: {},
      atMs: clock.ms,
    })
  }
}
