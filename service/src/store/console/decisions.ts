import { sql, type Kysely } from 'kysely'

import type { MicroUsdc } from '../../domain/money.ts'
import type { ConsoleReads } from './store.ts'
import type { ToTransactions } from '../paid-categories.ts'
import {
  toAgent,
  toHold,
  toMandate,
  toTransaction,
  type AgentRow,
  type HoldRow,
  type Int,
  type MandateRow,
  type Tables,
  type TransactionRow,
} from '../rows.ts'

/** What the decision about a transaction looked at. */
export function prepareDecisions(
  db: Kysely<Tables>,
  toTransactions: ToTransactions,
): Pick<ConsoleReads, 'findDecision'> {
  return {
    async findDecision(key) {
      const { accountId, environment, id } = key
      const own = (table: string, key: string, value: string) => sql`
        select * from ${sql.table(table)}
        where account_id = ${accountId} and ${sql.ref(key)} = ${value} and environment = ${environment}`
      const [row] = (await sql<TransactionRow>`${own('transactions', 'id', id)}`.execute(db)).rows
      if (!row) return undefined
      const isReceived = row.side === 'payee'
      const agents = isReceived
        ? []
        : (await sql<AgentRow>`${own('agents', 'id', row.agent_id)}`.execute(db)).rows
      const mandates = isReceived
        ? []
        : (await sql<MandateRow>`${own('mandates', 'id', row.mandate_id)}`.execute(db)).rows
      const holds =
        isReceived || row.nonce === null
          ? []
          : (await sql<HoldRow>`${own('holds', 'nonce', row.nonce)}`.execute(db)).rows
      const [agent] = agents
      const [mandate] = mandates
      const [hold] = holds
      const [transaction = toTransaction(row)] = await toTransactions(key, [row])
      return {
        transaction,
        isReceived,
        failedCheck: row.failed_check === null ? null : Number(row.failed_check),
        spentBeforeMicro: toNullableMicro(row.spent_before_micro),
        agent: agent && toAgent(agent),
        mandate: mandate && toMandate(mandate),
        hold: hold && toHold(hold),
        holdSpentBeforeMicro: toNullableMicro(hold?.spent_before_micro ?? null),
        holdHeldBeforeMicro: toNullableMicro(hold?.held_before_micro ?? null),
      }
    },
  }
}

function toNullableMicro(value: Int | null): MicroUsdc | null {
  return value === null ? null : (BigInt(value) as MicroUsdc)
}
