import { normalizeHostName } from '../../../domain/host-name.ts'
import { idsFrom } from '../../../domain/id-time.ts'
import { manyDenials, manyTransactions } from '../../../domain/risk.ts'
import { idBytes, type IdKind } from '../../../domain/type-id.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { sqlName, type ColumnKind } from '../table.ts'
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
import { toMandate } from './records.ts'
import { clockSlackMs } from './transactions.ts'

/** How many of a mandate's latest transactions the risk signals use. */
const recentTransactions = Math.max(manyDenials, manyTransactions)

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The kinds of the statement's parameters. */
const parameters = {
  caller: 'id',
  environment: 'text',
  agent: 'id',
  mandate: 'id',
  merchantDomain: 'text',
  /** A mandate's id as text. */
  mandateText: 'text',
  firstEntry: 'id',
} satisfies Readonly<Record<string, ColumnKind>>

export type FactsParameter = keyof typeof parameters

export const parameterNames = Object.keys(parameters) as readonly FactsParameter[]

/** The parts of the statement that differ between databases. */
export interface FactsDialect {
  readonly parameter: (name: FactsParameter, kind: ColumnKind) => string
  /** The tables with the rows of mandates, `m` and others, joined to the one with a key. */
  readonly joinMandate: (condition: string) => string
  readonly columnOfMandate: (name: string) => string
  /** The entries `e` of the mandate `m` from an id on, newest first, by their index. */
  readonly entriesOfMandate: (firstId: string) => string
  /** Concatenates texts of several rows with commas. */
  readonly joinTexts: (text: string) => string
  /** The agent's account, if the statement itself does not look it up. */
  readonly account?: string
}

/** Where the columns of the mandate begin and end in a row of the statement. */
export const mandateStart = Object.keys(agents.columns).length
export const mandateEnd = mandateStart + Object.keys(mandates.columns).length

/**
 * One statement, for a consistent view. Its columns are those of the agent, those of the mandate, the times of the
 * mandate's latest transactions (negative for denials), and the result of `waitingOf`.
 */
export function factsStatement(dialect: FactsDialect): string {
  const columns = [
    ...Object.keys(agents.columns).map((name) => `a.${sqlName(name)}`),
    ...Object.keys(mandates.columns).map(dialect.columnOfMandate),
  ]
  const atMs = `case kind when 'denied' then '-' else '' end || at_ms`
  const latest = `${dialect.entriesOfMandate(parameterOf(dialect, 'firstEntry'))} limit ${recentTransactions}`
  return `
    select ${columns.join(', ')},
      (select ${dialect.joinTexts(atMs)} from (${latest}) latest) as recent,
      ${waitingOf(dialect)} as waiting
    ${agentAndMandate(dialect)}`
}

function parameterOf(dialect: Pick<FactsDialect, 'parameter'>, name: FactsParameter): string {
  return dialect.parameter(name, parameters[name])
}

/**
 * The agent `a` and its mandate `m`: of the caller's own account, or of that of a customer of the caller's seller,
 * which is not disabled.
 */
function agentAndMandate(dialect: FactsDialect): string {
  const p = (name: FactsParameter) => parameterOf(dialect, name)
  const onMandate = `m.account_id = ${dialect.account ?? 'a.account_id'} and m.id = ${p('mandate')} and m.agent_id = a.id
      and m.environment = a.environment`
  return `
    from ${agents.name} a ${dialect.joinMandate(onMandate)}
    where a.account_id = ${dialect.account ?? accountOfAgent(dialect)}
      and a.id = ${p('agent')} and a.environment = ${p('environment')}`
}

/** The caller's own account, or that of a customer. */
export function accountOfAgent(dialect: Pick<FactsDialect, 'parameter'>): string {
  const p = (name: FactsParameter) => parameterOf(dialect, name)
  return `coalesce((
        select d.account_id from ${agentAccounts.name} d
          join ${accounts.name} o on o.id = d.account_id and o.disabled_at_ms is null
          join ${sellerDomains.name} s on s.environment = ${p('environment')} and s.domain = ${p('merchantDomain')}
            and s.account_id = ${p('caller')}
        where d.agent_id = ${p('agent')}), ${p('caller')})`
}

/** Null if the mandate has paid the seller; otherwise the account's parts that are not added up yet. */
function waitingOf(dialect: FactsDialect): string {
  const p = (name: FactsParameter) => parameterOf(dialect, name)
  return `
      case
        when exists (
          select 1 from ${paidSellers.name} s where s.account_id = ${dialect.account ?? 'm.account_id'} and s.mandate_id = m.id
            and s.merchant_domain = ${p('merchantDomain')}) then null
        else (
          select coalesce(${dialect.joinTexts('w.parts')}, '') from ${activityParts.name} w
          where w.account_id = ${dialect.account ?? 'm.account_id'} and replace(w.parts, ${p('mandateText')}, '') <> w.parts)
      end`
}

/** The values of the parameters, with ids in the form of a database; null for an invalid one. */
export function factsValues(
  { caller, agentId, mandateId, merchantDomain, nowMs }: AgentQuestion,
  idOf: (kind: IdKind, text: string) => unknown,
): Readonly<Record<FactsParameter, unknown>> {
  const firstMs = nowMs - (caller.clockOffsetMs ?? 0) - hourMs - clockSlackMs
  return {
    caller: idOf('account', caller.accountId),
    environment: caller.environment,
    agent: idOf('agent', agentId),
    mandate: idOf('mandate', mandateId),
    merchantDomain,
    mandateText: mandateId,
    firstEntry: idOf('transaction', idsFrom('txn', firstMs).padEnd('txn_'.length + 26, '0')),
  }
}

/** The result of the statement. */
export interface FoundFacts {
  readonly agent: AgentRow
  readonly mandate: MandateRow | undefined
  readonly recent: string | null
  readonly hasPaidThisSeller: boolean
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
  if (!found?.mandate) return { ...nothing, agent: found?.agent }
  const { agent, mandate, recent, hasPaidThisSeller } = found
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

/** Whether the mandate has paid the seller, according to the statement's `waiting`. */
export function hasPaid(
  waiting: string | null,
  asked: Pick<AgentQuestion, 'mandateId' | 'merchantDomain'>,
): boolean {
  if (waiting === null) return true
  const batches = JSON.parse(`[${waiting}]`) as readonly (readonly ActivityPart[])[]
  return sellersPaidIn(batches.flat()).some(
    ({ mandateId, merchantDomain }) =>
      mandateId === asked.mandateId && merchantDomain === asked.merchantDomain,
  )
}
