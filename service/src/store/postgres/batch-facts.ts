import type { QueryConfig, QueryResult } from 'pg'

import type { Environment } from '@purser/wire/fields'

import { normalizeHostName } from '../../domain/host-name.ts'
import type { Agent, CollectedMandate, Hold, Mandate, RegisteredSeller } from '../../domain/records.ts'
import { toAgent, toMandate, type HoldRow, type MandateRow, type TransactionRow } from '../rows.ts'
import type { Capture, ProposedTransaction } from '../store.ts'
import {
  lockMandates,
  readExpired,
  readFacts,
  readHolds,
  readRecorded,
  readSellers,
  type ExpiredHold,
  type FactsRow,
  type LockedMandate,
  type Question,
  type WantedDomain,
  type WantedFacts,
  type WantedHold,
  type WantedMandate,
} from './payment-statements.ts'
import type { Transaction } from './transaction.ts'

/** The calls of a batch, by what they do. */
export interface BatchCalls {
  readonly proofs: readonly Hold[]
  readonly captures: readonly Capture[]
  readonly evaluations: readonly ProposedTransaction[]
}

/** What a batch looks at: all of it read in one round trip, after the mandates have been locked. */
export interface BatchFacts {
  readonly agentOf: (call: WantedFacts) => Agent | undefined
  /** The mandate as the calls before in the batch left it. */
  readonly mandateOf: (call: WantedFacts) => Mandate | undefined
  readonly collectedMandateOf: (hold: HoldRow) => CollectedMandate | undefined
  /** The hold as the calls before in the batch left it. */
  readonly holdOf: (call: WantedHold) => HoldRow | undefined
  /** The holds of a mandate that had expired when the batch was read. */
  readonly expiredOf: (mandateId: string) => readonly ExpiredHold[]
  readonly sellerOf: (environment: Environment, domain: string) => RegisteredSeller | undefined
  /** What an earlier attempt at this batch has recorded of an evaluation. */
  readonly recordOf: (proposal: ProposedTransaction) => TransactionRow | undefined
  /** What a decision changes for those after it. */
  readonly replaceMandate: (mandate: Mandate) => void
  readonly replaceHold: (hold: HoldRow) => void
}

export async function readBatchFacts(transaction: Transaction, calls: BatchCalls): Promise<BatchFacts> {
  const { proofs, captures, evaluations } = calls
  const statements: QueryConfig[] = []
  const readers: ((answer: QueryResult) => void)[] = []
  function ask<Row>(statement: Question<Row>, read: (rows: Row[]) => void): void {
    statements.push(statement)
    readers.push((answer) => read(answer.rows as Row[]))
  }

  const locked = new Map<string, LockedMandate>()
  const agents = new Map<string, Agent>()
  const mandates = new Map<string, Mandate>()
  const mandateOfFacts = new Map<string, string>()
  const expired = new Map<string, ExpiredHold[]>()
  const holds = new Map<string, HoldRow>()
  const holdOfProof = new Map<string, string>()
  const sellers = new Map<string, RegisteredSeller>()
  const recorded = new Map<string, TransactionRow>()

  const wantedMandates = distinct([...proofs.map(mandateOfProof), ...captures.map(mandateOfCapture)], lockKey)
  if (wantedMandates.length > 0) {
    ask(lockMandates(wantedMandates), (rows) => {
      for (const row of rows) locked.set(row.id, row)
    })
  }
  const wantedFacts = distinct([...proofs, ...evaluations], factsKey)
  if (wantedFacts.length > 0) {
    ask(readFacts(wantedFacts), (rows) => {
      for (const row of rows) {
        const wanted = wantedFacts[row.wanted]
        if (!wanted) continue
        if (row.agent_found !== null) agents.set(factsKey(wanted), agentOf(row, row.agent_found, wanted))
        if (row.id === null) continue
        mandateOfFacts.set(factsKey(wanted), row.id)
        if (!mandates.has(row.id)) mandates.set(row.id, toMandate(row as MandateRow))
      }
    })
  }
  if (proofs.length > 0) {
    const latestMs = proofs.reduce((latest, { issuedAtMs }) => Math.max(latest, issuedAtMs), 0)
    ask(readExpired(distinct(proofs.map(mandateOfProof), lockKey), latestMs), (rows) => {
      for (const row of rows) {
        const ofMandate = expired.get(row.mandate_id)
        if (ofMandate) ofMandate.push(row)
        else expired.set(row.mandate_id, [row])
      }
    })
  }
  const wantedHolds = distinct(
    [...captures.map(holdOfCapture), ...(transaction.isRerun ? proofs : [])],
    proofKey,
  )
  if (wantedHolds.length > 0) {
    ask(readHolds(wantedHolds), (rows) => {
      for (const { wanted, ...row } of rows) {
        const call = wantedHolds[wanted]
        if (!call) continue
        holds.set(holdKey(row), row)
        holdOfProof.set(proofKey(call), holdKey(row))
      }
    })
  }
  const wantedDomains = distinct([...captures.map(domainOfCapture), ...evaluations.map(domainOf)], domainKey)
  if (wantedDomains.length > 0) {
    ask(readSellers(wantedDomains), (rows) => {
      for (const row of rows) sellers.set(domainKey(row), { accountId: row.account_id, id: row.seller_id })
    })
  }
  if (transaction.isRerun && evaluations.length > 0) {
    ask(readRecorded(evaluations), (rows) => {
      for (const row of rows) recorded.set(row.id, row)
    })
  }

  const answers = await transaction.ask(...statements)
  for (const [index, read] of readers.entries()) {
    const answer = answers[index]
    if (answer) read(answer)
  }

  return {
    agentOf: (call) => agents.get(factsKey(call)),
    mandateOf: (call) => mandates.get(mandateOfFacts.get(factsKey(call)) ?? ''),
    collectedMandateOf: (hold) => {
      const mandate = locked.get(hold.mandate_id)
      if (mandate?.account_id !== hold.account_id) return undefined
      return { accountId: hold.account_id, allowedSellers: JSON.parse(mandate.allowed_sellers) as string[] }
    },
    holdOf: (call) => holds.get(holdOfProof.get(proofKey(call)) ?? ''),
    expiredOf: (mandateId) => expired.get(mandateId) ?? [],
    sellerOf: (environment, domain) => sellers.get(domainKey({ environment, domain })),
    recordOf: ({ id }) => recorded.get(id),
    replaceMandate: (mandate) => mandates.set(mandate.id, mandate),
    replaceHold: (hold) => {
      if (holds.has(holdKey(hold))) holds.set(holdKey(hold), hold)
    },
  }
}

/** How a hold is named in the maps of a batch. */
export function holdKey({ account_id: accountId, nonce }: Pick<HoldRow, 'account_id' | 'nonce'>): string {
  return `${accountId} ${nonce}`
}

/** What a capture looks for. */
export function holdOfCapture({ caller, nonce, mandateId }: Capture): WantedHold {
  return { accountId: caller.accountId, environment: caller.environment, nonce, mandateId }
}

function mandateOfProof({ accountId, mandateId }: Hold): WantedMandate {
  return { accountId, id: mandateId }
}

function mandateOfCapture({ mandateId }: Capture): WantedMandate {
  return { accountId: null, id: mandateId }
}

function domainOfCapture({ caller, merchantDomain }: Capture): WantedDomain {
  return { environment: caller.environment, domain: normalizeHostName(merchantDomain) }
}

function domainOf({ environment, merchantDomain }: ProposedTransaction): WantedDomain {
  return { environment, domain: normalizeHostName(merchantDomain) }
}

function lockKey({ accountId, id }: WantedMandate): string {
  return `${accountId ?? ''} ${id}`
}

function factsKey({ accountId, environment, agentId, mandateId }: WantedFacts): string {
  return `${accountId} ${environment} ${agentId} ${mandateId}`
}

function proofKey({ accountId, environment, nonce, mandateId }: WantedHold): string {
  return `${accountId} ${environment} ${nonce} ${mandateId}`
}

function domainKey({ environment, domain }: WantedDomain): string {
  return `${environment} ${domain}`
}

function distinct<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  if (items.length < 2) return [...items]
  const found = new Map<string, Item>()
  for (const item of items) found.set(keyOf(item), item)
  return [...found.values()]
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
