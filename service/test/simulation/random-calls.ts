// Longer than 400 lines: every kind of call draws on the records of earlier calls.
import type { Increase } from '../../src/domain/approval.ts'
import { auditEvent } from '../../src/domain/audit.ts'
import { formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import { holdDefaults } from '../../src/domain/new-records.ts'
import { holdGraceMs, validityWindowMs } from '../../src/domain/proof.ts'
import type { ApprovalTerms, AuditEvent, Caller, Hold, Scope } from '../../src/domain/records.ts'
import { idBytes, idText } from '../../src/domain/type-id.ts'
import { createIds } from '../../src/ids.ts'
import { createAccount, moveAccount } from '../../src/store/ledger/operations/accounts.ts'
import { createAgent, revokeAgent } from '../../src/store/ledger/operations/agents.ts'
import { amendMandate } from '../../src/store/ledger/operations/amendments.ts'
import { decideApproval, requestIncrease } from '../../src/store/ledger/operations/approval-decisions.ts'
import { issueApiKey, revokeApiKey } from '../../src/store/ledger/operations/api-keys.ts'
import { closeStrayMinute, recordStrayDenial } from '../../src/store/ledger/operations/denials.ts'
import { evaluate } from '../../src/store/ledger/operations/evaluations.ts'
import { addTallies, recordEvent } from '../../src/store/ledger/operations/figures.ts'
import {
  createMandate,
  endOpenPayments,
  listMandatesOf,
  moveMandate,
  releaseExpiredPayments,
} from '../../src/store/ledger/operations/mandates.ts'
import { capture, settleLate } from '../../src/store/ledger/operations/captures.ts'
import { issueProof } from '../../src/store/ledger/operations/payments.ts'
import { advanceClock, readClock } from '../../src/store/ledger/operations/limits/test-clocks.ts'
import { claimDomain, createSeller, releaseDomain } from '../../src/store/ledger/operations/sellers.ts'
import {
  createSession,
  endSession,
  endSessionById,
  touchSession,
} from '../../src/store/ledger/operations/sessions.ts'
import {
  endStop,
  pressStop,
  readStops,
  resumeMandate,
  stopMandate,
  takeStop,
  undoStop,
} from '../../src/store/ledger/operations/stops.ts'
import { voidProof, voidPayments, voidPaymentsOfRevoked } from '../../src/store/ledger/operations/voids.ts'
import type { StoredSession } from '../../src/store/console/store.ts'
import { generousMandate } from '../../testing/ledgers/generous-mandate.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { RandomBudgets } from './random-budgets.ts'
import { made, type RandomCall } from './random-call.ts'
import { authorizeCall, collectionCall } from './random-collections.ts'

/** Texts in place of an id, as a caller may send them. */
const invented = [
  '',
  'nobody',
  `agent_${'z'.repeat(26)}`,
  'mandate_01h455vb4pex5vsknk084sn02q',
  'é💶',
  'x'.repeat(3_000),
]

const domains = ['shop.example', 'data.example', 'News.Example', 'ünïcode.example'] as const

/** The id of the approval that a proof requests: it has the bytes of the proof's nonce. */
const approvalOf = ({ nonce }: Hold) => idText('approval', idBytes('nonce', nonce)!)

/**
 * Calls of every operation, each of which mostly makes sense: they refer to what earlier calls have created,
 * and sometimes to what never existed. Deterministic for each seed, whatever their outcomes.
 */
export class RandomCalls {
  readonly #random
  readonly #ids
  #nowMs = Date.UTC(2026, 10, 20, 12)
  readonly #accountIds: string[] = []
  readonly #keys: Caller[] = []
  readonly #agents: (Scope & { readonly id: string })[] = []
  readonly #mandates: (Scope & { readonly id: string; readonly agentId: string })[] = []
  readonly #budgets: RandomBudgets
  readonly #holds: Hold[] = []
  /** The last request for an increase of each mandate. */
  readonly #increases = new Map<string, string>()
  readonly #stopIds: string[] = []
  readonly #sessions: StoredSession[] = []
  /** The accounts that have requested the shop's domain. */
  readonly #shopAccountIds: string[] = []
  /** The queued calls. */
  readonly #planned: (() => RandomCall)[] = []

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#ids = createIds(() => this.#nowMs, this.#random.bytes)
    this.#budgets = new RandomBudgets({
      ...this.#tools,
      nowMs: () => this.#nowMs,
      newEvent: (type, subjectId, scope) => this.#event(type, subjectId, scope),
    })
  }

  get #tools() {
    return { random: this.#random, ids: this.#ids }
  }

  get accountIds(): readonly string[] {
    return this.#accountIds
  }

  /** The next call; the first ones create accounts. */
  next(): RandomCall {
    this.#letTimePass()
    if (this.#accountIds.length < 3) return this.#createAccount()
    if (this.#agents.length < 4) return this.#createAgent()
    if (this.#mandates.length < 6) return this.#createMandate()
    const planned = this.#planned.shift()
    if (planned) return planned()
    const dice = this.#random.below(100)
    if (dice < 32) return this.#issueProof()
    if (dice < 60) return this.#capture()
    if (dice < 65) return this.#collect()
    if (dice < 74) return this.#evaluate()
    return this.#random.pick(this.#rareCalls)()
  }

  readonly #rareCalls: readonly [() => RandomCall, ...(() => RandomCall)[]] = [
    () => this.#createAccount(),
    () => {
      const id = this.#accountId()
      // Most accounts are enabled most of the time.
      const to = this.#random.below(6) === 0 ? ('disabled' as const) : ('active' as const)
      const events = [this.#event('account.disabled', id)]
      return made(moveAccount, [id, to, { atMs: this.#nowMs, events }])
    },
    () => this.#createAgent(),
    () => {
      const agent = this.#agent()
      // Most agents live on.
      const isRare = this.#random.below(4) === 0
      return isRare
        ? made(revokeAgent, [agent, this.#event('agent.revoked', agent.id, agent)])
        : this.#createMandate()
    },
    () => this.#issueKey(),
    () => {
      const { accountId, keyId } = this.#random.pick(this.#keys as [Caller])
      const id = this.#orInvented(keyId)
      const mayBeLast = this.#random.below(2) === 0
      return made(revokeApiKey, [{ accountId, id, mayBeLast }, this.#event('api_key.revoked', id)])
    },
    () => this.#createMandate(),
    () => {
      const { id, ...scope } = this.#mandate()
      const mandate = { ...scope, id: this.#orInvented(id) }
      const to = this.#random.pick(['active', 'active', 'active', 'paused', 'paused', 'revoked'] as const)
      return made(moveMandate, [mandate, to, this.#event('mandate.paused', id, scope)])
    },
    () => this.#amendMandate(),
    () => this.#budgets.create({ ...this.#scope(), environment: 'sandbox' }),
    () => this.#budgets.use({ ...this.#scope(), environment: 'sandbox' }),
    () => this.#budgets.use({ ...this.#scope(), environment: 'sandbox' }),
    () => this.#budgets.assign(this.#agent()),
    () => this.#budgets.readUsage(this.#mandate(), this.#payment().resourceUrl),
    () => this.#decide(),
    () => this.#decide(),
    () => this.#decide(),
    () => this.#decide(),
    () => this.#requestIncrease(),
    () => this.#buyWithApproval(),
    () => this.#createSeller(),
    () => {
      if (this.#random.below(3) > 0) return this.#createSeller()
      const registration = { environment: 'sandbox' as const, domain: this.#domain().toLowerCase() }
      const event = () => this.#event('seller.released', '')
      return made(releaseDomain, [registration, { own: event(), theirs: event() }])
    },
    () => made(settleLate, this.#attempt()),
    () => {
      const hold = this.#hold()
      const nonce = this.#orInvented(hold.nonce)
      return made(voidProof, [{ ...hold, nonce }, hold, this.#event('proof.voided', nonce, hold)])
    },
    () => {
      const { accountId, id: mandateId } = this.#mandate()
      const countId = this.#ids.next('transaction')
      if (this.#random.below(20) === 0) return made(endOpenPayments, { accountId, id: mandateId })
      return made(releaseExpiredPayments, { accountId, mandateId, nowMs: this.#nowMs, countId })
    },
    () => this.#voidPayments(),
    () => this.#pressOrUndo(),
    () => this.#stop(),
    () => this.#resume(),
    () => this.#useSession(),
    () => {
      const scope = this.#scope()
      if (this.#random.below(2) === 0) return made(readClock, scope)
      const byMs = this.#random.pick([1, 1_000, 20_000])
      return made(advanceClock, [scope, byMs, this.#event('test_clock.advanced', 'clock', scope)])
    },
    () => this.#tally(),
    () => made(recordEvent, this.#event('agents.stopped', 'all')),
    () => {
      const { id, ...scope } = this.#mandate()
      const hold = { ...this.#newHold(), ...scope, mandateId: id }
      const denial = { decision: 'denied', code: 'mandate_expired', detail: 'none', check: 3 } as const
      return made(recordStrayDenial, { hold, denial })
    },
    () =>
      made(closeStrayMinute, {
        ...this.#scope(),
        nowMs: this.#nowMs,
        countId: this.#ids.next('transaction'),
      }),
    () => {
      const own = { ...this.#scope(), environment: 'sandbox' as const, domain: this.#domain().toLowerCase() }
      return made(claimDomain, [own, this.#event('seller.created', '', own)])
    },
  ]

  #letTimePass(): void {
    const dice = this.#random.below(400)
    this.#nowMs +=
      dice === 0 ? validityWindowMs + holdGraceMs : dice < 20 ? this.#random.below(90_000) : dice % 3
  }

  #createAccount(): RandomCall {
    const id = this.#ids.next('account')
    const user = this.#random.below(30)
    const account = { id, name: 'A shop', email: 'shop@example.com', idpUserId: `idp_${user}` }
    const scope = { accountId: id, environment: 'sandbox' } as const
    if (this.#accountIds.length < 3) this.#accountIds.push(id)
    const keys = [this.#newKey(scope, 'owner')]
    const events = [this.#event('account.created', id, scope)]
    return made(createAccount, [{ ...account, createdAtMs: this.#nowMs, disabledAtMs: null }, keys, events])
  }

  #issueKey(): RandomCall {
    const scope = this.#scope()
    const role = this.#random.pick(['owner', 'merchant', 'agent'] as const)
    const agentId = role === 'agent' ? this.#orInvented(this.#agent().id) : null
    const key = { ...this.#newKey(scope, role), agentId }
    return made(issueApiKey, [key, this.#event('api_key.created', key.id, scope)])
  }

  #newKey(scope: Scope, role: Caller['role']) {
    const id = this.#ids.next('apiKey')
    this.#keys.push({ ...scope, keyId: id, role, agentId: null })
    const secretHash = Buffer.from(this.#random.bytes(32))
    const key = { ...scope, id, role, agentId: null, label: null, hint: 'abcd', secretHash }
    return { ...key, createdAtMs: this.#nowMs, revokedAtMs: null }
  }

  #createAgent(): RandomCall {
    const agent = { ...this.#scope(), id: this.#ids.next('agent') }
    this.#agents.push(agent)
    const details = {
      name: 'buyer',
      description: 'Größe "1"',
      capabilities: ['buy', 'read'],
      budgetPath: null,
    }
    const state = { status: 'active' as const, createdAtMs: this.#nowMs, revokedAtMs: null }
    return made(createAgent, [
      { ...agent, ...details, ...state },
      this.#event('agent.created', agent.id, agent),
    ])
  }

  #createMandate(terms: { readonly approval?: ApprovalTerms } = {}): RandomCall {
    const { id: agentId, ...scope } = this.#agent()
    const id = this.#ids.next('mandate')
    this.#mandates.push({ ...scope, id, agentId })
    const maxTotalMicro = BigInt(1 + this.#random.below(50_000_000)) as MicroUsdc
    const expiresAtMs = this.#nowMs + this.#random.pick([60_000, 86_400_000, 31_536_000_000])
    const mandate = generousMandate({
      ...scope,
      id,
      agentId: this.#orInvented(agentId),
      maxTotalMicro,
      maxPerTransactionMicro: 5_000_000n as MicroUsdc,
      allowedSellers: this.#random.pick([['*'], ['*'], ['shop.example', 'data.example']]),
      limits: this.#random.pick([null, null, this.#budgets.limits('seller')]),
      budgetPath: this.#random.pick([null, this.#budgets.pathFor(scope)]),
      expiresAtMs,
      approval: this.#random.pick([
        null,
        null,
        { above: '3.00', firstPurchaseAtSeller: false, required: 1 },
        { above: null, firstPurchaseAtSeller: true, required: 2 },
        { above: null, firstPurchaseAtSeller: true, required: 1 },
      ]),
      maxCaptureSeconds: this.#random.pick([60, 600, 86_400]),
      allowedResources: this.#random.pick([
        null,
        null,
        null,
        ['https://shop.example/reports/*'],
        ['https://shop.example/reports/1*', 'https://shop.example/reports/5'],
      ]),
      categoryCheck: this.#random.pick([null, null, null, 'enforced' as const]),
      metadata: this.#random.pick([null, { project: 'apollo', 'größe "1"': '' }]),
      ...terms,
      createdAtMs: this.#nowMs,
    })
    const attempt = { kind: 'mandate', requestKey: id, requestHash: agentId } as const
    return made(createMandate, [mandate, this.#event('mandate.created', id, scope), attempt])
  }

  #amendMandate(): RandomCall {
    const { id, ...scope } = this.#mandate()
    const maxTotalMicro = BigInt(this.#random.below(50_000_000)) as MicroUsdc
    const total = { maxTotalText: formatSum(maxTotalMicro), maxTotalMicro }
    const mandate = { ...scope, id: this.#orInvented(id) }
    const agentId = this.#random.pick([undefined, scope.agentId, this.#orInvented(scope.agentId)])
    const amendment = {
      terms: this.#random.pick([
        total,
        total,
        { allowedSellers: ['*', 'shop.example'] },
        { purpose: 'Größe' },
        { approval: this.#random.pick([null, { above: '1.00', firstPurchaseAtSeller: true, required: 1 }]) },
        { limits: this.#random.pick([null, this.#budgets.limits('resource')]) },
        { budgetPath: this.#random.pick([null, this.#budgets.pathFor(scope)]) },
      ]),
      paidDomains: this.#random.pick([[], ['shop.example']]),
      expectedVersion: 1 + this.#random.below(3),
      mayWiden: this.#random.below(4) > 0,
      endsHolds: this.#random.below(3) === 0,
    }
    return made(amendMandate, [mandate, { agentId }, amendment, this.#event('mandate.amended', id, scope)])
  }

  #createSeller(): RandomCall {
    const scope = { ...this.#scope(), environment: 'sandbox' as const }
    const id = this.#ids.next('seller')
    const seller = { ...scope, id, name: 'Shop', domain: this.#domain().toLowerCase(), priceConfig: '{}' }
    if (seller.domain === 'shop.example') this.#shopAccountIds.push(scope.accountId)
    return made(createSeller, [
      { ...seller, createdAtMs: this.#nowMs, isPending: this.#random.below(3) === 0 },
      this.#event('seller.created', id, scope),
    ])
  }

  #issueProof(): RandomCall {
    const hold = this.#newHold()
    this.#holds.push(hold)
    const callerId = this.#random.pick(this.#keys as [Caller]).keyId
    const isRepeatable = this.#random.below(3) === 0
    const idempotencyKey = `request ${this.#random.below(40)}`
    const requestKey = isRepeatable ? { callerId, idempotencyKey } : undefined
    const requester = this.#requester()
    const approvalId = this.#random.below(3) === 0 ? this.#approvalOf(hold.mandateId) : undefined
    return made(issueProof, { hold, requestKey, approvalId, requester })
  }

  #requester() {
    const { keyId: actor } = this.#random.pick(this.#keys as [Caller])
    return { actor, person: actor }
  }

  /** An approval that a proof of the mandate may have requested: it has the bytes of its nonce. */
  #approvalOf(mandateId: string): string | undefined {
    const asked = this.#holds.filter((hold) => hold.mandateId === mandateId).slice(-4)
    if (asked.length === 0) return undefined
    return this.#orInvented(approvalOf(this.#random.pick(asked as [Hold])))
  }

  #decide(): RandomCall {
    const { id: mandateId, agentId: _agentId, ...scope } = this.#mandate()
    const approvalId =
      this.#random.below(3) === 0 ? this.#increases.get(mandateId) : this.#approvalOf(mandateId)
    const verdict = this.#random.pick(['approved', 'approved', 'denied'] as const)
    const key = { ...scope, mandateId, id: approvalId ?? this.#orInvented('none') }
    const note = this.#random.pick([null, 'größer'])
    return made(decideApproval, [
      key,
      { verdict, ...this.#requester(), note, isOwner: this.#random.below(4) > 0 },
      {
        decided: this.#event('approval.approved', mandateId, scope),
        amended: this.#event('mandate.amended', mandateId, scope),
      },
    ])
  }

  #requestIncrease(): RandomCall {
    const { id: mandateId, agentId, ...scope } = this.#mandate()
    const approvalId = this.#ids.next('approval')
    this.#increases.set(mandateId, approvalId)
    const mandate = { ...scope, id: this.#orInvented(mandateId) }
    const filter = { agentId: this.#random.pick([undefined, agentId, this.#orInvented(agentId)]) }
    const increase = this.#random.pick<Increase>([
      { maxTotalText: formatSum(BigInt(this.#random.below(90_000_000)) as MicroUsdc) },
      { maxPerTransactionText: '6.00' },
      { limits: this.#random.pick([[], this.#budgets.limits('resource')]) },
    ])
    const request = { approvalId, increase, message: 'more', requester: this.#requester() }
    const event = this.#event('approval.requested', mandateId, scope)
    return made(requestIncrease, [mandate, filter, request, event])
  }

  #newHold(): Hold {
    return {
      ...this.#payment(),
      nonce: this.#ids.nonce(),
      ...holdDefaults,
      issuedAtMs: this.#nowMs,
      expiresAtMs: this.#nowMs + validityWindowMs + holdGraceMs,
      category: this.#random.pick([null, 'data', 'games']),
      metadata: this.#random.pick([null, null, { order: String(this.#random.below(10)) }]),
      orderId: this.#random.below(6) === 0 ? `order ${this.#random.below(10)}` : null,
    }
  }

  /** A payment under a new mandate, and what follows. */
  #collect(): RandomCall {
    const create = this.#createMandate()
    const hold = this.#smallHold()
    const attempt = { ...this.#attempt(hold), ...this.#sellerOfShop() }
    // The latest key of an account is the least likely to be revoked.
    const { keyId } = this.#keys.findLast(({ accountId }) => accountId === attempt.caller.accountId)!
    const sale = { ...attempt, category: null, caller: { ...attempt.caller, keyId } }
    const newEvent = (type: AuditEvent['type'], subjectId: string) =>
      this.#event(type, subjectId, sale.caller)
    const later = () => collectionCall({ ...sale, nowMs: this.#nowMs }, { ...this.#tools, newEvent })
    this.#planned.push(
      () => made(issueProof, { hold }),
      () => authorizeCall({ ...sale, nowMs: this.#nowMs }, { ...this.#tools, newEvent }),
      ...Array.from({ length: this.#random.below(6) }, () => later),
    )
    return create
  }

  /** A proof under the newest mandate, usually for an amount that it allows. */
  #smallHold(): Hold {
    const mandate = this.#mandates.at(-1)!
    const amountMicro = BigInt(1 + this.#random.below(500_000)) as MicroUsdc
    const amount = { amountMicro, amountText: formatSum(amountMicro) }
    const hold = { ...this.#newHold(), ...mandate, mandateId: mandate.id, ...amount, category: null }
    this.#holds.push(hold)
    return hold
  }

  /**
   * A first purchase that needs approval, the approval, and two proofs: for the second, the seller is known.
   */
  #buyWithApproval(): RandomCall {
    const create = this.#createMandate({
      approval: { above: null, firstPurchaseAtSeller: true, required: 1 },
    })
    const asking = this.#smallHold()
    const { accountId, environment, mandateId } = asking
    const approvalId = approvalOf(asking)
    this.#planned.push(
      () => made(issueProof, { hold: asking, requester: this.#requester() }),
      () =>
        made(decideApproval, [
          { accountId, environment, mandateId, id: approvalId },
          { verdict: 'approved', ...this.#requester(), note: null, isOwner: true },
          {
            decided: this.#event('approval.approved', approvalId, asking),
            amended: this.#event('mandate.amended', mandateId, asking),
          },
        ]),
      () => {
        const { nonce } = this.#newHold()
        const hold = { ...asking, nonce, orderId: null }
        this.#holds.push(hold)
        return made(issueProof, { hold, approvalId, requester: this.#requester() })
      },
      () => made(issueProof, { hold: { ...asking, nonce: this.#ids.nonce(), orderId: null } }),
    )
    return create
  }

  /** Usually an account that has registered the domain of every resource, which may be another account. */
  #sellerOfShop() {
    const sellers = this.#keys.filter(({ accountId }) => this.#shopAccountIds.includes(accountId))
    if (sellers.length === 0 || this.#random.below(3) === 0) return {}
    const caller = { ...this.#random.pick(sellers as [Caller]), environment: 'sandbox' as const }
    return { caller, merchantDomain: 'shop.example' }
  }

  #capture(): RandomCall {
    return made(capture, { ...this.#attempt(), transactionId: this.#ids.next('transaction') })
  }

  #attempt(hold = this.#hold()) {
    const { accountId: payerId, nonce, agentId, mandateId, amountText, currency, resourceUrl } = hold
    const isOwn = this.#random.below(3) > 0
    const callers = this.#keys.filter(({ accountId }) => !isOwn || accountId === payerId)
    const caller = { ...this.#random.pick(callers as [Caller]), environment: this.#environment() }
    const terms = { agentId, mandateId, amountText, currency, resourceUrl }
    return {
      payerId: this.#orInvented(payerId),
      caller,
      nonce: this.#orInvented(nonce),
      ...terms,
      ...(this.#random.below(40) === 0 && { amountText: '0.01' }),
      ...(this.#random.below(40) === 0 && { mandateId: this.#random.pick(invented as [string]) }),
      merchantDomain: this.#domain(),
      category: this.#random.pick([null, null, null, 'data']),
      idempotencyKey: this.#random.pick([null, 'first', 'second']),
      nowMs: this.#nowMs,
    }
  }

  #evaluate(): RandomCall {
    const { agentId, mandateId, ...payment } = this.#payment()
    return made(evaluate, {
      ...payment,
      agentId: this.#orInvented(agentId),
      mandateId: this.#orInvented(mandateId),
      id: this.#ids.next('transaction'),
      merchantDomain: this.#domain(),
      category: this.#random.pick([null, 'data']),
      metadata: this.#random.pick([null, { order: '1' }]),
      isDryRun: this.#random.below(8) === 0,
      createdAtMs: this.#nowMs,
    })
  }

  #payment() {
    const { id: mandateId, ...mandate } = this.#mandate()
    const amountMicro = BigInt(1 + this.#random.below(6_000_000)) as MicroUsdc
    return {
      ...mandate,
      environment: this.#random.below(30) === 0 ? this.#environment() : mandate.environment,
      mandateId: this.#orInvented(mandateId),
      amountText: formatSum(amountMicro),
      amountMicro,
      currency: 'USDC' as const,
      resourceUrl: `https://shop.example/reports/${this.#random.below(1_000)}`,
    }
  }

  #voidPayments(): RandomCall {
    const { id, agentId, ...scope } = this.#mandate()
    const { accountId } = scope
    const of = this.#random.below(2) === 0 ? scope : { accountId, agentId }
    const afterId = this.#random.pick(['', '', id])
    // Most payments are kept.
    if (this.#random.below(4) > 0) return made(listMandatesOf, { of, afterId, limit: 5 })
    const event = this.#event('proofs.voided', id, scope)
    if (of === scope) return made(voidPayments, { scope, afterId, event })
    return made(voidPaymentsOfRevoked, { accountId, mandateId: this.#orInvented(id), event })
  }

  #pressOrUndo(): RandomCall {
    const scope = this.#scope()
    const dice = this.#random.below(5)
    if (dice === 0) return made(readStops, scope)
    const press = this.#random.below(5)
    if (dice === 1) {
      const isNamed = this.#random.pick([false, true])
      return made(undoStop, { scope, press, isNamed, atMs: this.#nowMs })
    }
    if (dice === 2) return made(takeStop, { scope, press, atMs: this.#nowMs })
    if (dice === 3) {
      return made(endStop, { scope, press, tryAtMs: this.#random.pick([null, this.#nowMs + 30_000]) })
    }
    const stopId = this.#ids.next('stop')
    this.#stopIds.push(stopId)
    return made(pressStop, { scope, stopId, actor: 'system', atMs: this.#nowMs })
  }

  #stop(): RandomCall {
    const stopId = this.#stopIds.at(-1) ?? this.#ids.next('stop')
    const press = this.#random.pick([null, null, null, 1, 2, 3])
    return made(stopMandate, { ...this.#moveOfStop(), stopId, press })
  }

  #resume(): RandomCall {
    const stopId = this.#random.pick([null, null, ...this.#stopIds.slice(-3)])
    return made(resumeMandate, { ...this.#moveOfStop(), stopId, press: this.#random.below(5) })
  }

  #moveOfStop() {
    const { id, accountId, environment } = this.#mandate()
    const mandate = { accountId, environment, id: this.#orInvented(id) }
    return { mandate, actor: 'system', atMs: this.#nowMs, eventId: this.#ids.next('auditEvent') }
  }

  #useSession(): RandomCall {
    const dice = this.#random.below(6)
    const known = this.#sessions.at(-1 - this.#random.below(4))
    if (!known || dice < 3) {
      const session: StoredSession = {
        accountId: this.#accountId(),
        tokenHash: Buffer.from(this.#random.bytes(32)),
        id: this.#ids.next('session'),
        kind: this.#random.pick(['key', 'oidc', 'set_up_link']),
        role: 'owner',
        keyId: null,
        environment: this.#random.pick([null, 'sandbox']),
        createdAtMs: this.#nowMs,
        usedAtMs: this.#nowMs,
        endsAtMs: this.#nowMs + this.#random.below(100_000),
      }
      this.#sessions.push(session)
      return made(createSession, [session, undefined, known && dice === 0 ? known : undefined])
    }
    const event = this.#event('session.ended', known.id)
    if (dice === 3) return made(touchSession, [known, this.#nowMs])
    if (dice === 4) return made(endSession, [known, { ...event, accountId: known.accountId }])
    return made(endSessionById, [known, { ...event, accountId: known.accountId }])
  }

  #tally(): RandomCall {
    const scope = this.#scope()
    const id = `tally ${this.#random.below(1e9)}`
    const { accountId, keyId } = this.#random.pick(this.#keys as [Caller])
    const keyUses = [{ accountId, keyId, usedAtMs: this.#nowMs }]
    const failed = { subject: 'shop.example', reason: 'proof_expired' } as const
    const refusals = [{ ...scope, ...failed, startsAtMs: 900_000, count: 2 }]
    return made(addTallies, { writerId: 'service', id, refusals, keyUses })
  }

  /** An existing account, and a caller for it. */
  #event(type: AuditEvent['type'], subjectId: string, scope: Scope = this.#scope()): AuditEvent {
    const id = this.#ids.next('auditEvent')
    return auditEvent('system', scope, { id, type, subjectId, data: { about: subjectId }, atMs: this.#nowMs })
  }

  #scope(): Scope {
    return { accountId: this.#accountId(), environment: this.#environment() }
  }

  #environment(): Scope['environment'] {
    return this.#random.below(10) === 0 ? 'production' : 'sandbox'
  }

  #accountId(): string {
    return this.#random.pick(this.#accountIds as [string])
  }

  #agent() {
    return this.#latest(this.#agents)
  }

  #mandate() {
    return this.#latest(this.#mandates)
  }

  /** Usually a recent payment: old ones no longer change. */
  #hold(): Hold {
    if (this.#holds.length === 0) this.#issueProof()
    return this.#latest(this.#holds)
  }

  #latest<Item>(items: readonly Item[]): Item {
    return this.#random.pick((this.#random.below(8) === 0 ? items : items.slice(-12)) as [Item])
  }

  #domain(): string {
    return this.#random.pick(domains)
  }

  #orInvented(id: string): string {
    return this.#random.below(40) === 0 ? this.#random.pick(invented as [string]) : id
  }
}
