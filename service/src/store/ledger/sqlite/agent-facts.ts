import { idBytes } from '../../../domain/type-id.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  factsStatement,
  factsValues,
  hasPaid,
  mandateEnd,
  mandateStart,
  readAgentFacts,
  type FactsDialect,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { sqlName } from '../table.ts'
import { accounts, agents, mandates, sellerDomains, type AgentRow, type MandateRow } from '../tables.ts'
import type { IndexedMandates } from './indexed-mandates.ts'
import type { SqliteDatabase } from './open.ts'
import { RowCodec, type SqlValue } from './row-codec.ts'
import { entriesByMandate, joinedParameter, partsOf } from './schema.ts'

const [first, sums = first] = partsOf(mandates)

const dialect: FactsDialect = {
  parameter: (name) => joinedParameter(`:${name}`),
  joinMandate: (condition) =>
    `left join ${first.name} m on ${condition} left join ${sums.name} n on n.no = m.no`,
  columnOfMandate: (name) => `${sums.columns.includes(name) ? 'n' : 'm'}.${sqlName(name)}`,
  entriesOfMandate: (firstId) => `
    select e.kind, e.at_ms from ${entriesByMandate} e
    where e.account_id = m.account_id and e.mandate_id = m.id and e.id >= ${firstId}
      and e.kind not in ('more_denied', 'refunded')
    order by e.id desc`,
  joinTexts: (text) => `group_concat(${text}, ',')`,
}

/** The facts of an agent and a mandate that can change, read by the mandate's number. */
const selectChanging = `
  select a.status, a.revoked_at_ms, a.budget_path, m.status, m.updated_at_ms,
    n.spent_micro, n.held_micro, n.authorized_micro, m.version
  from ${first.name} m join ${sums.name} n on n.no = m.no
    join ${agents.name} a on a.account_id = m.account_id and a.id = m.agent_id
  where m.no = ${joinedParameter()}`

/** Whether a seller of an account may ask about an agent of another one, which is not disabled. */
const isCustomer = `
  exists (select 1 from ${accounts.name} o where o.id = m.account_id and o.disabled_at_ms is null)
  and exists (
    select 1 from ${sellerDomains.name} s where s.environment = ${joinedParameter()}
      and s.domain = ${joinedParameter()} and s.account_id = ${joinedParameter()})`

/** Cached facts about a mandate and its agent, valid until the next call for it. */
export interface KnownFacts extends FoundFacts {
  readonly mandate: MandateRow
  /** The number of the mandate. */
  readonly no: SqlValue
  /** For each seller that was asked about, whether the mandate has paid it. */
  readonly sellers: ReadonlyMap<string, boolean>
}

/** Max cached sellers per mandate. */
const maxSellers = 16

/**
 * The facts for verify-agent. If no call was made for a mandate since the last question, only facts that may
 * have changed are read. One statement answers each question, for a consistent view.
 */
export function prepareAgentFacts(
  database: SqliteDatabase,
  indexed: IndexedMandates<KnownFacts>,
): (question: AgentQuestion) => Promise<AgentFacts> {
  const prepare = (text: string) => database.prepare<unknown[], SqlValue[]>(text).raw().safeIntegers()
  const findAll = prepare(factsStatement(dialect))
  const findOwn = prepare(selectChanging)
  const findTheirs = prepare(`${selectChanging} and ${isCustomer}`)
  const findNumber = prepare(`select no from ${first.name} where account_id = ? and id = ?`)
  const agentCodec = new RowCodec(agents)
  const mandateCodec = new RowCodec(mandates)

  function find(asked: AgentQuestion): FoundFacts | undefined {
    return findKnown(asked) ?? findAnew(asked)
  }

  /** Undefined if everything must be read. */
  function findKnown(asked: AgentQuestion): FoundFacts | undefined {
    const { caller, agentId, mandateId, merchantDomain } = asked
    const known = indexed.knownOf(mandateId)
    const hasPaidThisSeller = known?.sellers.get(merchantDomain)
    if (!known || hasPaidThisSeller === undefined) return undefined
    const { accountId, environment, id } = known.agent
    if (id !== agentId || environment !== caller.environment) return undefined
    const found =
      accountId === caller.accountId
        ? findOwn.get(known.no)
        : findTheirs.get(known.no, environment, merchantDomain, idBytes('account', caller.accountId))
    if (!found) return undefined
    const [status, revokedAtMs, budgetPath, mandateStatus, updatedAtMs, ...sums] = found
    const [spentMicro, heldMicro, authorizedMicro, version] = sums
    // Its terms have changed.
    if (Number(version) !== known.mandate.version) return undefined
    const changed = {
      agent: {
        status,
        revokedAtMs: revokedAtMs === null ? null : Number(revokedAtMs),
        budgetPath: budgetPath === null ? null : (JSON.parse(budgetPath as string) as readonly string[]),
      },
      mandate: {
        status: mandateStatus,
        updatedAtMs: Number(updatedAtMs),
        spentMicro,
        heldMicro,
        authorizedMicro,
      },
    }
    return {
      agent: { ...known.agent, ...changed.agent } as AgentRow,
      mandate: { ...known.mandate, ...changed.mandate } as MandateRow,
      recent: known.recent,
      hasPaidThisSeller,
    }
  }

  function findAnew(asked: AgentQuestion): FoundFacts | undefined {
    const found = findAll.get(factsValues(asked, (kind, text) => idBytes(kind, text) ?? null))
    if (!found) return undefined
    const values = found.slice(mandateStart, mandateEnd)
    const agent = agentCodec.decode(found.slice(0, mandateStart)) as unknown as AgentRow
    const recent = found[mandateEnd] as string | null
    const hasPaidThisSeller = hasPaid(found[mandateEnd + 1] as string | null, asked)
    if (values[0] === null) return { agent, mandate: undefined, recent, hasPaidThisSeller }
    const mandate = mandateCodec.decode(values) as unknown as MandateRow
    const facts = { agent, mandate, recent, hasPaidThisSeller }
    const { accountId, id } = mandate
    const [no] = findNumber.get(idBytes('account', accountId), idBytes('mandate', id)) ?? []
    if (no !== undefined) {
      const others = [...(indexed.knownOf(asked.mandateId)?.sellers ?? [])].slice(1 - maxSellers)
      const sellers = new Map([...others, [asked.merchantDomain, hasPaidThisSeller]])
      indexed.know(asked.mandateId, { ...facts, no, sellers })
    }
    return facts
  }

  return async (question) => {
    const indexing = indexed.indexEntries([question.mandateId])
    if (indexing) await indexing
    return readAgentFacts(question, find)
  }
}
