import type { TransactionStatus } from '@purser/wire/transactions'

import type { Metadata, Scope } from '../domain/records.ts'
import type { MandateVersionRow } from './ledger/tables.ts'

/** One record of one scope. */
export interface RecordKey extends Scope {
  readonly id: string
}

/** Only what belongs to one agent, for an agent's key. */
export interface AgentFilter {
  readonly agentId?: string | undefined
}

export interface MandateListFilter extends AgentFilter {
  /** Texts that the metadata must contain. */
  readonly metadata?: Metadata | undefined
}

export interface TransactionFilter extends MandateListFilter {
  readonly mandateId?: string | undefined
  readonly status?: TransactionStatus | undefined
  readonly merchantDomain?: string | undefined
  /** At or after this time. */
  readonly fromMs?: number | undefined
  /** Before this time. */
  readonly beforeMs?: number | undefined
  /** Only what was paid to sellers of the scope's account. */
  readonly receivedOnly?: boolean
  /** Only payments and refunds. */
  readonly moneyOnly?: boolean
}

/** The requested part of a list: at most `limit` items, older than the one named. */
export interface Page {
  readonly limit: number
  readonly olderThan?: string | undefined
}

export interface PageOf<Item> {
  readonly items: Item[]
  /** The id to continue after, if there are more. */
  readonly next: string | undefined
}

/** The terms of a mandate from one amendment to the next. */
export type MandateVersion = Omit<MandateVersionRow, 'accountId' | 'mandateId'>
