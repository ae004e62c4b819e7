import { idBytes, type IdKind } from '../../../domain/type-id.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  decodeFacts,
  prepareStatement,
  readAgentFacts,
  rowDecoderOf,
  selectFacts,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { sqlName } from '../table.ts'
import { accounts, agents, mandates, sellerDomains, type MandateRow } from '../tables.ts'
import type { IndexedMandates } from './indexed-mandates.ts'
import type { SqliteDatabase } from './open.ts'
import type { SqlValue } from './row-codec.ts'
import { entriesOfMandates, joinedParameter, partsOf } from './schema.ts'
import { spelling } from './sqlite-reader.ts'
import { sql } from '../../sql.ts'

const [first, sums = first] = partsOf(mandates)

/** A column of a mandate, from the tables `m` and `n` that store it. */
const mandateColumn = (name: string) => `${sums.columns.includes(name) ? 'n' : 'm'}.${sqlName(name)}`

const facts = prepareStatement(
  selectFacts({
    joinMandate: (condition) => sql`
      left join ${sql.table(first.name)} m on ${condition} left join ${sql.table(sums.name)} n on n.no = m.no`,
    mandateColumns: sql.raw(Object.keys(mandates.columns).map(mandateColumn).join(', ')),
    entriesOfMandate: (firstId) => sql`
      select e.kind, e.at_ms from ${sql.table(entriesOfMandates.view)} e
      where e.account_id = m.account_id and e.mandate_id = m.id and e.id >= ${firstId}
        and e.kind not in ('more_denied', 'refunded')
      order by e.id desc`,
  }),
  { ...spelling, parameter: () => joinedParameter },
)

/** The columns of an agent and a mandate that can change without a change of its terms. */
const changingOfAgent = ['status', 'revokedAtMs', 'budgetPath']
const changingOfMandate = ['version', 'status', 'updatedAtMs', 'spentMicro', 'heldMicro', 'authorizedMicro']
const decodeAgent = rowDecoderOf(agents, changingOfAgent)
const decodeMandate = rowDecoderOf(mandates, changingOfMandate)

/** Finds them by the mandate's number. */
const selectChanging = `
  select ${[...changingOfAgent.map((name) => `a.${sqlName(name)}`), ...changingOfMandate.map(mandateColumn)].join(', ')}
  from ${first.name} m join ${sums.name} n on n.no = m.no
    join ${agents.name} a on a.account_id = m.account_id and a.id = m.agent_id
  where m.no = ${joinedParameter}`

/** Whether a seller of an account may ask about an agent of another one, which is not disabled. */
const isCustomer = `
  exists (select 1 from ${accounts.name} o where o.id = m.account_id and o.disabled_at_ms is null)
  and exists (
    select 1 from ${sellerDomains.name} s where s.environment = ${joinedParameter}
      and s.domain = ${joinedParameter} and s.account_id = ${joinedParameter})`

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
  const findAll = prepare(facts.text)
  const findOwn = prepare(selectChanging)
  const findTheirs = prepare(`${selectChanging} and ${isCustomer}`)
  const findNumber = prepare(`select no from ${first.name} where account_id = ? and id = ?`)

  /** Undefined if everything must be read. */
  function findKnown({ caller, agentId, mandateId, merchantDomain }: AgentQuestion): FoundFacts | undefined {
    const known = indexed.knownOf(mandateId)
    const hasPaidThisSeller = known?.sellers.get(merchantDomain)
    if (!known || hasPaidThisSeller === undefined) return undefined
    const { accountId, environment, id } = known.agent
    if (id !== agentId || environment !== caller.environment) return undefined
    const found =
      accountId === caller.accountId
        ? findOwn.get(known.no)
        : findTheirs.get(known.no, environment, merchantDomain, bytesOf('account', caller.accountId))
    if (!found) return undefined
    const agent = { ...known.agent, ...decodeAgent(found, 0) }
    const mandate = { ...known.mandate, ...decodeMandate(found, changingOfAgent.length) }
    const areTermsKnown = mandate.version === known.mandate.version
    return areTermsKnown ? { agent, mandate, recent: known.recent, hasPaidThisSeller } : undefined
  }

  function findAnew(asked: AgentQuestion): FoundFacts | undefined {
    const values = findAll.get(...facts.valuesOf(asked))
    const found = values && decodeFacts(values, asked)
    if (!found?.mandate) return found
    const { mandate, hasPaidThisSeller } = found
    const [no] = findNumber.get(bytesOf('account', mandate.accountId), bytesOf('mandate', mandate.id)) ?? []
    if (no !== undefined) {
      const others = [...(indexed.knownOf(mandate.id)?.sellers ?? [])].slice(1 - maxSellers)
      const sellers = new Map([...others, [asked.merchantDomain, hasPaidThisSeller]])
      indexed.know(mandate.id, { ...found, mandate, no, sellers })
    }
    return found
  }

  return async (question) => {
    const indexing = indexed.indexEntries([question.mandateId])
    if (indexing) await indexing
    return readAgentFacts(question, (asked) => findKnown(asked) ?? findAnew(asked))
  }
}

function bytesOf(kind: IdKind, id: string): Buffer | null {
  return idBytes(kind, id) ?? null
}
