import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  agentAndMandate,
  agentColumns,
  AgentReader,
  factsStatement,
  mandateColumns,
  waitingOf,
  type FactsDialect,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { sqlName } from '../table.ts'
import { agents, mandates, type AgentRow, type MandateRow } from '../tables.ts'
import type { IndexedMandates } from './indexed-mandates.ts'
import type { SqliteDatabase } from './open.ts'
import { encoderOf, RowCodec, type Row, type SqlValue } from './row-codec.ts'
import { entriesByMandate, partsOf } from './schema.ts'

const [first, sums = first] = partsOf(mandates)

const dialect: FactsDialect = {
  parameter: (name) => `:${name}`,
  joinMandate: (condition) =>
    `left join ${first.name} m on ${condition} left join ${sums.name} n on n.no = m.no`,
  columnOfMandate: (name) => `${sums.columns.includes(name) ? 'n' : 'm'}.${sqlName(name)}`,
  entriesOfMandate: (firstId) => `
    select e.kind, e.at_ms from ${entriesByMandate} e
    where e.account_id = m.account_id and e.mandate_id = m.id and e.id >= ${firstId}
      and e.kind <> 'more_denied'
    order by e.id desc`,
  joinTexts: (text) => `group_concat(${text}, ',')`,
}

/** What changes in an agent and in a mandate without a call that is for the mandate, or says so in these columns. */
const changing = {
  agent: ['status', 'revokedAtMs'],
  mandate: ['status', 'spentMicro', 'heldMicro', 'updatedAtMs'],
} as const

/** What was found of a mandate and its agent, since when no call was made for it. */
export type KnownFacts = FoundFacts & { readonly mandate: MandateRow }

/**
 * What verify-agent reports on. Of a mandate for which no call was made since the last question, only what may have changed is
 * read.
 */
export function prepareAgentFacts(
  database: SqliteDatabase,
  indexed: IndexedMandates<KnownFacts>,
): (question: AgentQuestion) => Promise<AgentFacts> {
  const prepare = (text: string) => database.prepare<unknown[], SqlValue[]>(text).raw().safeIntegers()
  const findAll = prepare(factsStatement(dialect))
  const changingColumns = [
    ...changing.agent.map((name) => `a.${sqlName(name)}`),
    ...changing.mandate.map(dialect.columnOfMandate),
  ]
  const findChanging = prepare(
    `select m.no, ${changingColumns.join(', ')}, ${waitingOf(dialect)} as waiting ${agentAndMandate(dialect)}`,
  )
  const agentCodec = new RowCodec(agents)
  const mandateCodec = new RowCodec(mandates)
  const decodersOf = (codec: RowCodec, names: readonly string[]) =>
    names.map((name) => ({ name, decode: codec.decoderOf(name) }))
  const ofAgent = decodersOf(agentCodec, changing.agent)
  const ofMandate = decodersOf(mandateCodec, changing.mandate)
  const mandateStart = agentColumns.length
  const mandateEnd = mandateStart + mandateColumns.length

  function find(
    values: Readonly<Record<string, unknown>>,
    { agentId, mandateId }: AgentQuestion,
  ): FoundFacts | undefined {
    const known = indexed.knownOf(mandateId)
    if (known && known.agent.id === agentId) {
      const { firstEntry: _firstEntry, ...used } = values
      const found = findChanging.get(used)
      if (!found) return undefined
      if (found[0] !== null) return changed(known, found)
    }
    const found = findAll.get(values)
    if (!found) return undefined
    const mandate = found.slice(mandateStart, mandateEnd)
    const agent = agentCodec.decode(found.slice(0, mandateStart)) as unknown as AgentRow
    const rest = {
      agent,
      recent: found[mandateEnd] as string | null,
      waiting: found[mandateEnd + 1] as string | null,
    }
    if (mandate[0] === null) return { ...rest, mandate: undefined }
    const facts = { ...rest, mandate: mandateCodec.decode(mandate) as unknown as MandateRow }
    indexed.know(mandateId, facts)
    return facts
  }

  function changed(known: KnownFacts, values: readonly SqlValue[]): FoundFacts {
    let place = 1
    const read = (columns: typeof ofAgent) => {
      const row: Record<string, unknown> = {}
      for (const { name, decode } of columns) {
        const value = values[place++] ?? null
        row[name] = value === null ? null : decode(value)
      }
      return row as Row
    }
    const agent = { ...known.agent, ...read(ofAgent) }
    const mandate = { ...known.mandate, ...read(ofMandate) }
    return { agent, mandate, recent: known.recent, waiting: values[place] as string | null }
  }

  const reader = new AgentReader({ find, encoderOf })
  return async (question) => {
    const indexing = indexed.indexEntries([question.mandateId])
    if (indexing) await indexing
    return reader.read(question)
  }
}
