import { normalizeHostName } from '../../../domain/host-name.ts'
import { bytesFrom } from '../../../domain/id-time.ts'
import { manyDenials, manyTransactions } from '../../../domain/risk.ts'
import { idBytes, type IdKind } from '../../../domain/type-id.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { compileDecodeRow } from '../compiled-rows.ts'
import type { Table } from '../table.ts'
import {
  accounts,
  activityParts,
  agentAccounts,
  agents,
  mandates,
  paidSellers,
  sellerDomains,
  type AgentRow,
  type MandateRow,
} from '../tables.ts'
import { toAgent, toMandate } from './records.ts'
import { clockSlackMs, columnsOf, decoderOf, from } from './rows.ts'
import { sql, type Spelling, type Sql } from '../../sql.ts'

/** How many of a mandate's latest transactions the risk signals use. */
const recentTransactions = Math.max(manyDenials, manyTransactions)

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** A question, with the agent's account if the statement itself does not look it up. */
export type Asked = AgentQuestion & { readonly account?: unknown }

/** The value of a parameter for a question. */
type ValueOf = (asked: Asked, spelling: Spelling) => unknown

const parameter = (valueOf: ValueOf): Sql => sql`${valueOf}`
const idParameter = (kind: IdKind, textOf: (asked: Asked) => string): Sql =>
  parameter((asked, spelling) => spelling.idParameter(idBytes(kind, textOf(asked)) ?? invalidId))

/** Stands for an invalid id: no row has it. Citus cannot route a statement that compares with null. */
const invalidId = Buffer.alloc(16)

const caller = idParameter('account', (asked) => asked.caller.accountId)
const environment = parameter((asked) => asked.caller.environment)
const agentId = idParameter('agent', (asked) => asked.agentId)
const mandateId = idParameter('mandate', (asked) => asked.mandateId)
const mandateText = parameter((asked) => asked.mandateId)
const merchantDomain = parameter((asked) => asked.merchantDomain)
/** The first entry that may count. */
const firstEntry = parameter(({ nowMs, caller: { clockOffsetMs = 0 } }, spelling) =>
  spelling.idParameter(bytesFrom(nowMs - clockOffsetMs - hourMs - clockSlackMs)),
)
export const foundAccount = parameter(({ account }) => account)

/** The text of a statement, and the values of its parameters in order. */
export function prepareStatement(statement: Sql, spelling: Spelling) {
  const { text, values } = statement.render(spelling)
  return { text, valuesOf: (asked: Asked) => values.map((valueOf) => (valueOf as ValueOf)(asked, spelling)) }
}

/** The caller's own account, or that of a customer of the caller's seller, which is not disabled. */
export const accountOfAgent = sql`coalesce((
  select d.account_id from ${from(agentAccounts)} d
    join ${from(accounts)} o on o.id = d.account_id and o.disabled_at_ms is null
    join ${from(sellerDomains)} s on s.environment = ${environment}
      and s.domain = ${merchantDomain} and s.account_id = ${caller}
  where d.agent_id = ${agentId}), ${caller})`

/** The parts of the statement that differ between databases. */
export interface FactsDialect {
  /** The tables with the rows of mandates, `m` and others, joined to the one with a key. */
  readonly joinMandate: (condition: Sql) => Sql
  /** Their columns, in the order of the declared table. */
  readonly mandateColumns: Sql
  /** The entries `e` of the mandate `m` from an id on, newest first, by their index. */
  readonly entriesOfMandate: (firstId: Sql) => Sql
  /** The agent's account, if the statement itself does not look it up. */
  readonly account?: Sql
}

/**
 * One statement, for a consistent view. Its columns are those of the agent `a`, those of its mandate `m`, the times of the
 * mandate's latest transactions (negative for denials), and null if the mandate has paid the seller, otherwise the account's
 * parts that are not added up yet.
 */
export function selectFacts(dialect: FactsDialect): Sql {
  const account = dialect.account ?? sql`m.account_id`
  const isMandate = sql`m.account_id = ${dialect.account ?? sql`a.account_id`} and m.id = ${mandateId}
    and m.agent_id = a.id and m.environment = a.environment`
  return sql`
    select ${columnsOf(agents, 'a')}, ${dialect.mandateColumns},
      (select string_agg(case kind when 'denied' then '-' else '' end || at_ms, ',')
        from (${dialect.entriesOfMandate(firstEntry)} limit ${sql.lit(recentTransactions)}) latest),
      case
        when exists (
          select 1 from ${from(paidSellers)} s where s.account_id = ${account} and s.mandate_id = m.id
            and s.merchant_domain = ${merchantDomain}) then null
        else (
          select coalesce(string_agg(w.parts, ','), '') from ${from(activityParts)} w
          where w.account_id = ${account} and replace(w.parts, ${mandateText}, '') <> w.parts)
      end
    from ${from(agents)} a ${dialect.joinMandate(isMandate)}
    where a.account_id = ${dialect.account ?? accountOfAgent}
      and a.id = ${agentId} and a.environment = ${environment}`
}

/** A row of the statement. */
export interface FoundFacts {
  readonly agent: AgentRow
  readonly mandate: MandateRow | undefined
  readonly recent: string | null
  readonly hasPaidThisSeller: boolean
}

/** A row of the statement from its values, in a database's representation. */
export function decodeFacts(values: readonly unknown[], asked: AgentQuestion): FoundFacts {
  const [recent = null, waiting = null] = values.slice(mandateEnd) as (string | null)[]
  const hasMandate = (values[mandateStart] ?? null) !== null
  return {
    agent: decodeAgent(values, 0) as AgentRow,
    mandate: hasMandate ? (decodeMandate(values, mandateStart) as MandateRow) : undefined,
    recent,
    hasPaidThisSeller: waiting === null || isPaidIn(waiting, asked),
  }
}

const mandateStart = Object.keys(agents.columns).length
const mandateEnd = mandateStart + Object.keys(mandates.columns).length
const decodeAgent = rowDecoderOf(agents)
const decodeMandate = rowDecoderOf(mandates)

/** Decodes consecutive values of some columns of a table; by default, of all of them. */
export function rowDecoderOf({ columns }: Table, names = Object.keys(columns)) {
  return compileDecodeRow<unknown>(names.map((name) => ({ name, decode: decoderOf(columns[name]!) })))
}

function isPaidIn(waiting: string, { mandateId, merchantDomain }: AgentQuestion): boolean {
  const batches = JSON.parse(`[${waiting}]`) as readonly (readonly ActivityPart[])[]
  return sellersPaidIn(batches.flat()).some(
    (paid) => paid.mandateId === mandateId && paid.merchantDomain === merchantDomain,
  )
}

/** The facts for verify-agent. Each question reads a bounded number of rows. */
export async function readAgentFacts(
  question: AgentQuestion,
  find: (question: AgentQuestion) => FoundFacts | undefined | Promise<FoundFacts | undefined>,
): Promise<AgentFacts> {
  const merchantDomain = normalizeHostName(question.merchantDomain)
  const nothing = { agent: undefined, mandate: undefined, risk: undefined }
  if (!idBytes('agent', question.agentId)) return nothing
  const found = await find({ ...question, merchantDomain })
  if (!found) return nothing
  const agent = toAgent(found.agent)
  const { mandate, recent, hasPaidThisSeller } = found
  if (!mandate) return { ...nothing, agent }
  const { maxTotalMicro, spentMicro, expiresAtMs } = mandate
  const counts = countRecent(recent, question.nowMs)
  return {
    agent,
    mandate: toMandate(mandate),
    risk: { maxTotalMicro, spentMicro, expiresAtMs, hasPaidThisSeller, ...counts },
  }
}

function countRecent(recent: string | null, nowMs: number) {
  let deniedInLastHour = 0
  let transactionsInLastMinute = 0
  for (const text of recent ? recent.split(',') : []) {
    const ageMs = nowMs - Math.abs(Number(text))
    if (text.startsWith('-') && ageMs < hourMs) deniedInLastHour += 1
    if (ageMs < minuteMs) transactionsInLastMinute += 1
  }
  return { deniedInLastHour, transactionsInLastMinute }
}
