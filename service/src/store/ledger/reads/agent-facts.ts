import { normalizeHostName } from '../../../domain/host-name.ts'
import { idsFrom } from '../../../domain/id-time.ts'
import { manyDenials, manyTransactions } from '../../../domain/risk.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { canHold, sqlName, type Column, type Table } from '../table.ts'
import {
  accounts,
  activityParts,
  agentAccounts,
  agents,
  entries,
  mandates,
  paidSellers,
  sellerDomains,
  type AgentRow,
  type MandateRow,
} from '../tables.ts'
import { toAgent, toMandate } from './records.ts'
import { clockSlackMs } from './transactions.ts'

/** How many of a mandate's latest transactions the risk signals use. */
const recentTransactions = Math.max(manyDenials, manyTransactions)

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The parameters of the statement, with their database types. */
const parameters = {
  caller: agents.columns.accountId,
  environment: agents.columns.environment,
  agent: agents.columns.id,
  mandate: mandates.columns.id,
  merchantDomain: paidSellers.columns.merchantDomain,
  /** A mandate's id as text. */
  mandateText: paidSellers.columns.merchantDomain,
  isKnownToPay: entries.columns.count,
  firstEntry: entries.columns.id,
} satisfies Readonly<Record<string, Column>>

export type FactsParameter = keyof typeof parameters

export const parameterNames = Object.keys(parameters) as readonly FactsParameter[]

/** The parts of the statement that differ between databases. */
export interface FactsDialect {
  readonly parameter: (name: FactsParameter, column: Column) => string
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

export const agentColumns = columnsOf(agents)
export const mandateColumns = columnsOf(mandates)

function columnsOf({ columns }: Table): readonly { readonly name: string; readonly column: Column }[] {
  return Object.entries(columns).map(([name, column]) => ({ name, column }))
}

/**
 * One statement, for a consistent view. Its columns are those of the agent, those of the mandate, the times of the
 * mandate's latest transactions (negative for denials), and the result of `waitingOf`.
 */
export function factsStatement(dialect: FactsDialect): string {
  const columns = [
    ...agentColumns.map(({ name }) => `a.${sqlName(name)}`),
    ...mandateColumns.map(({ name }) => dialect.columnOfMandate(name)),
  ]
  const atMs = `case kind when 'denied' then '-' else '' end || at_ms`
  return `
    select ${columns.join(', ')},
      (select ${dialect.joinTexts(atMs)}
        from (${dialect.entriesOfMandate(parameterOf(dialect, 'firstEntry'))} limit ${recentTransactions}) latest) as recent,
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

/** Null if the mandate is known to have paid the seller; otherwise the account's parts that are not added up yet. */
function waitingOf(dialect: FactsDialect): string {
  const p = (name: FactsParameter) => parameterOf(dialect, name)
  return `
      case
        when ${p('isKnownToPay')} = 1 or exists (
          select 1 from ${paidSellers.name} s where s.account_id = ${dialect.account ?? 'm.account_id'} and s.mandate_id = m.id
            and s.merchant_domain = ${p('merchantDomain')}) then null
        else (
          select coalesce(${dialect.joinTexts('w.parts')}, '') from ${activityParts.name} w
          where w.account_id = ${dialect.account ?? 'm.account_id'} and replace(w.parts, ${p('mandateText')}, '') <> w.parts)
      end`
}

/** A request, with what is already known. */
export interface AskedFacts extends AgentQuestion {
  /** Whether it is known that the mandate has paid the seller. */
  readonly isKnownToPay: boolean
}

/** Encodes the values of the parameters, in the order of `parameterNames`. */
export function factsEncoder(
  encoderOf: (column: Column) => (value: string | number) => unknown,
): (asked: AskedFacts) => Readonly<Record<string, unknown>> {
  const encoders = parameterNames.map((name) => {
    const column = parameters[name]
    return { name, column, encode: encoderOf(column) }
  })
  return (asked) => {
    const values = valuesOf(asked)
    const encoded: Record<string, unknown> = {}
    for (const { name, column, encode } of encoders) {
      encoded[name] = canHold(column, values[name]) ? encode(values[name]) : null
    }
    return encoded
  }
}

function valuesOf({
  caller,
  agentId,
  mandateId,
  merchantDomain,
  isKnownToPay,
  nowMs,
}: AskedFacts): Readonly<Record<FactsParameter, string | number>> {
  return {
    caller: caller.accountId,
    environment: caller.environment,
    agent: agentId,
    mandate: mandateId,
    merchantDomain,
    mandateText: mandateId,
    isKnownToPay: isKnownToPay ? 1 : 0,
    firstEntry: idsFrom('txn', nowMs - (caller.clockOffsetMs ?? 0) - hourMs - clockSlackMs).padEnd(
      'txn_'.length + 26,
      '0',
    ),
  }
}

/** The result of the statement. */
export interface FoundFacts {
  readonly agent: AgentRow
  readonly mandate: MandateRow | undefined
  readonly recent: string | null
  readonly hasPaidThisSeller: boolean
}

/** Max cached paid sellers, by mandate. */
const maxKnown = 65_536

type FindFacts = (asked: AskedFacts) => FoundFacts | undefined | Promise<FoundFacts | undefined>

/** The facts for verify-agent. Each request reads a bounded number of rows. */
export class AgentReader {
  readonly #find: FindFacts
  /** Mandates with sellers that they have paid, which never changes. */
  readonly #known = new Set<string>()

  constructor(find: FindFacts) {
    this.#find = find
  }

  async read(question: AgentQuestion): Promise<AgentFacts> {
    const merchantDomain = normalizeHostName(question.merchantDomain)
    const { agentId, mandateId } = question
    const nothing = { agent: undefined, mandate: undefined, risk: undefined }
    if (!canHold(agents.columns.id, agentId)) return nothing
    const key = `${mandateId}\0${merchantDomain}`
    const isKnownToPay = this.#known.has(key)
    const found = await this.#find({ ...question, merchantDomain, isKnownToPay })
    if (!found) return nothing
    const agent = toAgent(found.agent)
    if (!found.mandate) return { agent, mandate: undefined, risk: undefined }
    const mandate = toMandate(found.mandate)
    const { hasPaidThisSeller } = found
    if (hasPaidThisSeller && !isKnownToPay) this.#remember(key)
    return {
      agent,
      mandate,
      risk: {
        maxTotalMicro: mandate.maxTotalMicro,
        spentMicro: mandate.spentMicro,
        expiresAtMs: mandate.expiresAtMs,
        hasPaidThisSeller,
        ...countRecent(found.recent, question.nowMs),
      },
    }
  }

  #remember(key: string): void {
    if (this.#known.size >= maxKnown) this.#known.clear()
    this.#known.add(key)
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
