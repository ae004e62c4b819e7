import type { Pool } from 'pg'

import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  accountOfAgent,
  factsStatement,
  factsValues,
  hasPaid,
  mandateEnd,
  mandateStart,
  parameterNames,
  readAgentFacts,
  type FactsDialect,
  type FactsParameter,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { sqlName, type Table } from '../table.ts'
import { agents, entries, mandates, type AgentRow, type MandateRow } from '../tables.ts'
import { BatchedReads } from './batched-reads.ts'
import { compileDecodeRow } from '../compiled-rows.ts'
import { columnTypes, decoderOf } from './column-types.ts'
import { localSetting, noJit } from './local-settings.ts'
import { uuidOf } from './postgres-reader.ts'
import { askOnce, type Statement } from './round-trip.ts'
import { guardOf } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

/** A row of the statement. */
type Found = Omit<FoundFacts, 'hasPaidThisSeller'> & { readonly waiting: string | null }

const parameterIn =
  (names: readonly FactsParameter[]): FactsDialect['parameter'] =>
  (name, kind) =>
    `$${names.indexOf(name) + 1}::${columnTypes[kind].name}`

const dialect: FactsDialect = {
  parameter: parameterIn(parameterNames),
  joinMandate: (condition) => `left join ${mandates.name} m on ${condition}`,
  columnOfMandate: (name) => `m.${sqlName(name)}`,
  // Compares rows and orders by every column of the index, so that the planner uses no other index.
  entriesOfMandate: (firstId) => `
    select e.kind, e.at_ms from ${entries.name} e
    where (e.account_id, e.mandate_id, e.id) >= (m.account_id, m.id, ${firstId})
      and (e.account_id, e.mandate_id) <= (m.account_id, m.id)
      and e.${guardOf(['accountId', 'mandateId', 'id'])} and e.kind not in ('more_denied', 'refunded')
    order by e.account_id desc, e.mandate_id desc, e.id desc`,
  joinTexts: (one) => `string_agg(${one}, ',')`,
}
const text = factsStatement(dialect)

/** For distributed accounts: the agent's account is looked up first, and passed instead of the caller's. */
const account = dialect.parameter('caller', 'id')
const distributedText = factsStatement({
  ...dialect,
  account,
  entriesOfMandate: (firstId) =>
    dialect.entriesOfMandate(firstId).replace('where', `where e.account_id = ${account} and`),
})
const accountParameters = ['caller', 'environment', 'agent', 'merchantDomain'] as const
const accountText = `select ${accountOfAgent({ parameter: parameterIn(accountParameters) })} as account`

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
  const questions = new BatchedReads<Values, Found | undefined>({
    maxBatch: 64,
    maxWaiting,
    read: (batch) => retry(() => (isDistributed ? askDistributed(pool, batch) : ask(pool, batch))),
  })
  return (question) =>
    readAgentFacts(question, async (asked) => {
      const found = await questions.find(factsValues(asked, uuidOf))
      return found && { ...found, hasPaidThisSeller: hasPaid(found.waiting, asked) }
    })
}

async function ask(pool: Pool, batch: readonly Values[]): Promise<(Found | undefined)[]> {
  const statements = batch.map((values): Statement => ({
    name: 'purser_facts',
    text,
    values: parameterNames.map((name) => values[name]),
    decodeRow: decodeFacts,
  }))
  const answers = await askOnce(pool, [...begin, ...statements, { text: 'commit' }])
  return batch.map((_, index) => answers[begin.length + index]?.rows[0] as Found | undefined)
}

/** No row has this id. Citus cannot route a statement that compares with null. */
const noId = '00000000-0000-0000-0000-000000000000'

/** Like `ask`, in two round trips. */
async function askDistributed(pool: Pool, batch: readonly Values[]): Promise<(Found | undefined)[]> {
  const accounts = await askOnce(
    pool,
    batch.map((values): Statement => ({
      name: 'purser_facts_account',
      text: accountText,
      values: accountParameters.map((name) => values[name]),
      decodeRow: ([found]) => found,
    })),
  )
  const answers = await askOnce(
    pool,
    batch.map((values, index): Statement => ({
      name: 'purser_facts_distributed',
      text: distributedText,
      values: parameterNames.map((name) =>
        name === 'caller' ? accounts[index]?.rows[0] : (values[name] ?? noId),
      ),
      decodeRow: decodeFacts,
    })),
  )
  return answers.map(({ rows }) => rows[0] as Found | undefined)
}

function decodeFacts(fields: readonly (string | null)[]): Found {
  const hasMandate = typeof fields[mandateStart] === 'string'
  return {
    agent: decodeAgent(fields, 0) as unknown as AgentRow,
    mandate: hasMandate ? (decodeMandate(fields, mandateStart) as unknown as MandateRow) : undefined,
    recent: fields[mandateEnd] ?? null,
    waiting: fields[mandateEnd + 1] ?? null,
  }
}

const decodeAgent = decoderOfRow(agents)
const decodeMandate = decoderOfRow(mandates)

function decoderOfRow({ columns }: Table) {
  return compileDecodeRow<string | null>(
    Object.entries(columns).map(([name, column]) => ({ name, decode: decoderOf(column) })),
  )
}
