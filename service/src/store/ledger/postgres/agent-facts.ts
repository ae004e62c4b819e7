import type { Pool } from 'pg'

import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  accountOfAgent,
  decodeFacts,
  foundAccount,
  prepareStatement,
  readAgentFacts,
  selectFacts,
  type Asked,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { columnsOf, from } from '../reads/rows.ts'
import { entries, mandates } from '../tables.ts'
import { BatchedReads } from './batched-reads.ts'
import { localSetting, noJit } from './local-settings.ts'
import { spelling } from './postgres-reader.ts'
import { askOnce, type Statement } from './round-trip.ts'
import { guardOf } from './schema.ts'
import { sql, type Sql } from '../../sql.ts'

const facts = prepareStatement(selectFactsOf(), spelling)

// For distributed accounts: the agent's account is looked up first, and passed instead of the caller's.
const distributedFacts = prepareStatement(selectFactsOf(foundAccount), spelling)
const accountLookUp = prepareStatement(sql`select ${accountOfAgent} as account`, spelling)

function selectFactsOf(account?: Sql): Sql {
  return selectFacts({
    ...(account && { account }),
    joinMandate: (condition) => sql`left join ${from(mandates)} m on ${condition}`,
    mandateColumns: columnsOf(mandates, 'm'),
    // Compares rows and orders by every column of the index, so that the planner uses no other index.
    entriesOfMandate: (firstId) => sql`
      select e.kind, e.at_ms from ${from(entries)} e
      where ${sql.and(account && sql`e.account_id = ${account}`)}
        and (e.account_id, e.mandate_id, e.id) >= (m.account_id, m.id, ${firstId})
        and (e.account_id, e.mandate_id) <= (m.account_id, m.id)
        and e.${sql.raw(guardOf(['accountId', 'mandateId', 'id']))} and e.kind not in ('more_denied', 'refunded')
      order by e.account_id desc, e.mandate_id desc, e.id desc`,
  })
}

/**
 * Each connection plans the statement once, maybe while the tables are small. This excludes plans that are good only then,
 * such as sorting all entries of the account to find the latest.
 */
const settings = [
  ...['seqscan', 'bitmapscan', 'sort', 'incremental_sort'].map((plan) =>
    localSetting(`enable_${plan}`, 'off'),
  ),
  noJit,
  localSetting('plan_cache_mode', 'force_generic_plan'),
]

const begin: readonly Statement[] = [
  { name: 'purser_facts_begin', text: 'begin read only' },
  {
    name: 'purser_facts_settings',
    text: `select ${settings.join(', ')}`,
  },
]

export interface AgentFactsOptions {
  readonly maxWaiting: number
  readonly retry: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Whether accounts are distributed over machines. */
  readonly isDistributed: boolean
}

/** Reads the facts for verify-agent. Concurrent requests share one round trip. */
export function prepareAgentFacts(
  pool: Pool,
  { maxWaiting, retry, isDistributed }: AgentFactsOptions,
): (question: AgentQuestion) => Promise<AgentFacts> {
  const questions = new BatchedReads<AgentQuestion, FoundFacts | undefined>({
    maxBatch: 64,
    maxWaiting,
    read: (batch) => retry(() => (isDistributed ? askDistributed(pool, batch) : ask(pool, batch))),
  })
  return (question) => readAgentFacts(question, (asked) => questions.find(asked))
}

async function ask(pool: Pool, batch: readonly Asked[]): Promise<(FoundFacts | undefined)[]> {
  const statements = batch.map((asked) => toStatement('purser_facts', facts, asked))
  const answers = await askOnce(pool, [...begin, ...statements, { text: 'commit' }])
  return batch.map((_, index) => answers[begin.length + index]?.rows[0] as FoundFacts | undefined)
}

/** Like `ask`, in two round trips. */
async function askDistributed(pool: Pool, batch: readonly Asked[]): Promise<(FoundFacts | undefined)[]> {
  const { text, valuesOf } = accountLookUp
  const accounts = await askOnce(
    pool,
    batch.map((asked): Statement => ({
      name: 'purser_facts_account',
      text,
      values: valuesOf(asked),
      decodeRow: ([account]) => account,
    })),
  )
  const statements = batch.map((asked, index) =>
    toStatement('purser_facts_distributed', distributedFacts, {
      ...asked,
      account: accounts[index]?.rows[0],
    }),
  )
  const answers = await askOnce(pool, statements)
  return answers.map(({ rows }) => rows[0] as FoundFacts | undefined)
}

function toStatement(name: string, { text, valuesOf }: typeof facts, asked: Asked): Statement {
  return { name, text, values: valuesOf(asked), decodeRow: (fields) => decodeFacts(fields, asked) }
}
