import type { AgentFacts, AgentQuestion } from '../../store.ts'
import {
  agentColumns,
  AgentReader,
  factsStatement,
  mandateColumns,
  type FoundFacts,
} from '../reads/agent-facts.ts'
import { sqlName } from '../table.ts'
import { agents, mandates, type AgentRow, type MandateRow } from '../tables.ts'
import type { IndexedMandates } from './indexed-mandates.ts'
import type { SqliteDatabase } from './open.ts'
import { encoderOf, RowCodec, type SqlValue } from './row-codec.ts'
import { entriesByMandate, partsOf } from './schema.ts'

/** What verify-agent reports on, by a statement that is prepared once. */
export function prepareAgentFacts(
  database: SqliteDatabase,
  indexed: Pick<IndexedMandates, 'indexEntries'>,
): (question: AgentQuestion) => Promise<AgentFacts> {
  const [first, sums = first] = partsOf(mandates)
  const statement = database
    .prepare<unknown[], SqlValue[]>(
      factsStatement({
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
      }),
    )
    .raw()
    .safeIntegers()
  const agentCodec = new RowCodec(agents)
  const mandateCodec = new RowCodec(mandates)
  const mandateStart = agentColumns.length
  const mandateEnd = mandateStart + mandateColumns.length

  function find(values: Readonly<Record<string, unknown>>): FoundFacts | undefined {
    const found = statement.get(values)
    if (!found) return undefined
    const mandate = found.slice(mandateStart, mandateEnd)
    return {
      agent: agentCodec.decode(found.slice(0, mandateStart)) as unknown as AgentRow,
      mandate: mandate[0] === null ? undefined : (mandateCodec.decode(mandate) as unknown as MandateRow),
      recent: Number(found[mandateEnd]),
      waiting: found[mandateEnd + 1] as string | null,
    }
  }

  const reader = new AgentReader({ find, encoderOf })
  return async (question) => {
    const indexing = indexed.indexEntries([question.mandateId])
    if (indexing) await indexing
    return reader.read(question)
  }
}
