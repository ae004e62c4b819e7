import type { QueryConfig } from 'pg'

import type { Environment } from '@purser/wire/fields'

import { normalizeHostName } from '../../domain/host-name.ts'
import type { Agent, CollectedMandate, Hold, Mandate, RegisteredSeller } from '../../domain/records.ts'
import { parseList } from '../parsed-lists.ts'
import type { HoldRow, TransactionRow } from '../rows.ts'
import type { Capture, CaptureAttempt, LateAttempt, ProposedTransaction, RequestKey } from '../store.ts'
import type {
  ExpiredHold,
  LockedMandate,
  Question,
  SellerDomainRow,
  WantedDomain,
  WantedFacts,
  WantedHold,
  WantedRequest,
} from './payment-statements.ts'
import type { Answer } from '../ledger/postgres/round-trip.ts'
import type { Transaction } from './transaction.ts'

/** The account of the mandate that a proof names: there its hold is, if it is anywhere. */
interface Located {
  readonly accountId: string
}
export type LocatedAttempt = CaptureAttempt & Located
export type LocatedCapture = Capture & Located
export type LocatedLateAttempt = LateAttempt & Located

/** The calls of a batch, by what they do. */
export interface BatchCalls {
  readonly proofs: readonly Hold[]
  /** The requests for those proofs that carry a key. */
  readonly requests: readonly WantedRequest[]
  readonly captures: readonly LocatedAttempt[]
  readonly evaluations: readonly ProposedTransaction[]
}

/** What a batch looks at: all of it read in one round trip, after the mandates have been locked. */
export class BatchFacts {
  readonly #locked = new Map<string, LockedMandate>()
  readonly #agents = new Map<string, Agent>()
  readonly #mandates = new Map<string, Mandate>()
  readonly #mandateOfFacts = new Map<string, string>()
  readonly #expired = new Map<string, ExpiredHold[]>()
  readonly #holds = new Map<string, HoldRow>()
  readonly #holdOfProof = new Map<string, string>()
  readonly #sellers = new Map<string, RegisteredSeller>()
  readonly #requested = new Map<string, Hold>()
  readonly #disabled = new Set<string>()
  readonly #recorded = new Map<string, TransactionRow>()

  agentOf(call: WantedFacts): Agent | undefined {
    return this.#agents.get(factsKey(call))
  }

  /** The mandate as the calls before in the batch left it. */
  mandateOf(call: WantedFacts): Mandate | undefined {
    return this.#mandates.get(this.#mandateOfFacts.get(factsKey(call)) ?? '')
  }

  collectedMandateOf(hold: HoldRow): CollectedMandate | undefined {
    const mandate = this.#locked.get(hold.mandate_id)
    if (mandate?.account_id !== hold.account_id) return undefined
    return { accountId: hold.account_id, allowedSellers: parseList(mandate.allowed_sellers) }
  }

  /** The hold as the calls before in the batch left it. */
  holdOf(call: WantedHold): HoldRow | undefined {
    return this.#holds.get(this.#holdOfProof.get(proofKey(call)) ?? '')
  }

  /** The hold that an earlier request with the same key made, in this batch or before it. */
  requestedBefore(request: WantedRequest): Hold | undefined {
    return this.#requested.get(requestName(request))
  }

  /** The holds of a mandate that had expired when the batch was read. */
  expiredOf(mandateId: string): readonly ExpiredHold[] {
    return this.#expired.get(mandateId) ?? []
  }

  sellerOf(environment: Environment, domain: string): RegisteredSeller | undefined {
    return this.#sellers.get(domainKey({ environment, domain }))
  }

  isDisabled(accountId: string): boolean {
    return this.#disabled.has(accountId)
  }

  /** What an earlier attempt at this batch has recorded of an evaluation. */
  recordOf({ id }: ProposedTransaction): TransactionRow | undefined {
    return this.#recorded.get(id)
  }

  /** Lets the calls that follow see what a decision changes. */
  replaceMandate(mandate: Mandate): void {
    this.#mandates.set(mandate.id, mandate)
  }

  replaceHold(hold: HoldRow): void {
    if (this.#holds.has(holdKey(hold))) this.#holds.set(holdKey(hold), hold)
  }

  /** What says who may collect, of every mandate that the batch locked. */
  locked(): Iterable<LockedMandate> {
    return this.#locked.values()
  }

  addLocked(mandate: LockedMandate): void {
    this.#locked.set(mandate.id, mandate)
  }

  addAgent(call: WantedFacts, agent: Agent): void {
    this.#agents.set(factsKey(call), agent)
  }

  addMandate(call: WantedFacts, mandate: Mandate): void {
    this.#mandateOfFacts.set(factsKey(call), mandate.id)
    if (!this.#mandates.has(mandate.id)) this.#mandates.set(mandate.id, mandate)
  }

  addExpired(hold: ExpiredHold): void {
    const ofMandate = this.#expired.get(hold.mandate_id)
    if (ofMandate) ofMandate.push(hold)
    else this.#expired.set(hold.mandate_id, [hold])
  }

  addHold(call: WantedHold, hold: HoldRow): void {
    this.#holds.set(holdKey(hold), hold)
    this.#holdOfProof.set(proofKey(call), holdKey(hold))
  }

  addRequested(request: WantedRequest, hold: Hold): void {
    this.#requested.set(requestName(request), hold)
  }

  addSeller(row: SellerDomainRow): void {
    this.#sellers.set(domainKey(row), { accountId: row.account_id, id: row.seller_id })
  }

  addDisabled({ id }: { readonly id: string }): void {
    this.#disabled.add(id)
  }

  addRecorded(row: TransactionRow): void {
    this.#recorded.set(row.id, row)
  }
}

/** Questions that are sent together, each with what is done with its answer. */
export class Questions {
  readonly #statements: QueryConfig[] = []
  readonly #readers: ((answer: Answer) => void)[] = []

  add<Row>(statement: Question<Row>, read: (row: Row) => void): void {
    this.#statements.push(statement)
    this.#readers.push((answer) => {
      for (const row of answer.rows as Row[]) read(row)
    })
  }

  async ask(transaction: Transaction): Promise<void> {
    const answers = await transaction.ask(...this.#statements)
    for (const [index, read] of this.#readers.entries()) {
      const answer = answers[index]
      if (answer) read(answer)
    }
  }
}

/** How a hold is named in the maps of a batch. */
export function holdKey({ account_id: accountId, nonce }: Pick<HoldRow, 'account_id' | 'nonce'>): string {
  return `${accountId} ${nonce}`
}

/** What a capture looks for. */
export function holdOfCapture({ accountId, caller, nonce }: LocatedAttempt): WantedHold {
  return { accountId, environment: caller.environment, nonce }
}

/** How a request for a proof is looked for. */
export function requestOf({ accountId, environment }: Hold, requestKey: RequestKey): WantedRequest {
  return { accountId, environment, ...requestKey }
}

/** The sellers' domains that a batch asks for. */
export function wantedDomains({ captures, evaluations }: BatchCalls): WantedDomain[] {
  return distinct([...captures.map(domainOfCapture), ...evaluations.map(domainOf)], domainKey)
}

/** The accounts that pay and collect in a batch. */
export function partiesOf({ captures }: BatchCalls): string[] {
  return [...new Set(captures.flatMap(({ accountId, caller }) => [accountId, caller.accountId]))]
}

/** Whose policy a batch asks for. */
export function wantedFacts({ proofs, evaluations }: BatchCalls): WantedFacts[] {
  return distinct<WantedFacts>([...proofs, ...evaluations], factsKey)
}

/** The holds that a batch asks for; those of its proofs when an earlier attempt may have granted them. */
export function wantedHolds({ captures, proofs }: BatchCalls, { isRerun }: Transaction): WantedHold[] {
  return distinct([...captures.map(holdOfCapture), ...(isRerun ? proofs : [])], proofKey)
}

/** When the last of the proofs was issued: what expires after that is of no concern. */
export function latestMs({ proofs }: BatchCalls): number {
  return proofs.reduce((latest, { issuedAtMs }) => Math.max(latest, issuedAtMs), 0)
}

function domainOfCapture({ caller, merchantDomain }: LocatedAttempt): WantedDomain {
  return { environment: caller.environment, domain: normalizeHostName(merchantDomain) }
}

function domainOf({ environment, merchantDomain }: ProposedTransaction): WantedDomain {
  return { environment, domain: normalizeHostName(merchantDomain) }
}

function factsKey({ accountId, environment, agentId, mandateId }: WantedFacts): string {
  return `${accountId} ${environment} ${agentId} ${mandateId}`
}

function proofKey({ accountId, environment, nonce }: WantedHold): string {
  return `${accountId} ${environment} ${nonce}`
}

function requestName({ accountId, environment, callerId, idempotencyKey }: WantedRequest): string {
  return `${accountId} ${environment} ${callerId} ${idempotencyKey}`
}

function domainKey({ environment, domain }: WantedDomain): string {
  return `${environment} ${domain}`
}

/** The items without those whose key another has. */
export function distinct<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  if (items.length < 2) return [...items]
  const found = new Map<string, Item>()
  for (const item of items) found.set(keyOf(item), item)
  return [...found.values()]
}
