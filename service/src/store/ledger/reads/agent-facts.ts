import { sql } from 'kysely'

import { normalizeHostName } from '../../../domain/host-name.ts'
import type { AgentFacts, AgentQuestion } from '../../store.ts'
import { recentTransactions, riskFactsOf } from '../../risk-facts.ts'
import {
  accounts,
  agentAccounts,
  agents,
  mandates,
  payments,
  sellerDomains,
  type MandateRow,
} from '../tables.ts'
import { columnsOf, findRows, idFrom, idOf, tableOf, type ReadDialect, type Reader } from './dialect.ts'
import { toAgent, toMandate } from './records.ts'

/** How many of the latest payments of a mandate are looked at for one to a seller. */
const paymentsLookedAt = 1_000

/** What verify-agent reports on; each read looks at a bounded number of rows. */
export function prepareAgentFacts(db: Reader, dialect: ReadDialect) {
  const account = (accountId: string) => idOf(dialect, 'account', accountId)

  /** The account whose agent the caller may ask about: its own, or that of a customer of its seller that is not disabled. */
  async function accountToAsk({ caller, agentId, merchantDomain }: AgentQuestion): Promise<string> {
    const { rows } = await sql<{ owner: unknown; seller: unknown }>`
      select d.account_id as owner, s.account_id as seller from ${tableOf(dialect, agentAccounts)} d
        join ${tableOf(dialect, accounts)} a on a.id = d.account_id and a.disabled_at_ms is null
        join ${tableOf(dialect, sellerDomains)} s
          on s.environment = ${caller.environment} and s.domain = ${normalizeHostName(merchantDomain)}
      where d.agent_id = ${idOf(dialect, 'agent', agentId)}`.execute(db)
    const [row] = rows
    return row && idFrom('account', row.seller) === caller.accountId
      ? idFrom('account', row.owner)
      : caller.accountId
  }

  async function readRisk(
    { accountId, id, ...mandate }: MandateRow,
    { merchantDomain, nowMs }: AgentQuestion,
  ) {
    const own = sql`account_id = ${account(accountId)} and mandate_id = ${idOf(dialect, 'mandate', id)}`
    const journal = await dialect.entriesOfMandates([id])
    const latest = (limit: number) => sql`
      from ${journal} where ${own} and kind <> 'more_denied' order by id desc limit ${sql.lit(limit)}`
    const { rows: recent } = await sql<{ kind: string; at_ms: unknown }>`
      select kind, at_ms ${latest(recentTransactions)}`.execute(db)
    const { rows: paid } = await sql`
      select 1 from (select payer_id, nonce ${latest(paymentsLookedAt)}) e
        join ${tableOf(dialect, payments)} p on p.account_id = e.payer_id and p.nonce = e.nonce
      where p.merchant_domain = ${normalizeHostName(merchantDomain)} limit 1`.execute(db)
    return riskFactsOf(
      toMandate({ accountId, id, ...mandate }),
      recent.map(({ kind, at_ms }) => ({
        status: kind === 'denied' ? 'denied' : 'paid',
        created_at_ms: Number(at_ms),
      })),
      { hasPaidThisSeller: paid.length > 0, nowMs },
    )
  }

  return {
    async readAgentFacts(question: AgentQuestion): Promise<AgentFacts> {
      const { caller, agentId, mandateId } = question
      const own = sql`account_id = ${account(await accountToAsk(question))} and environment = ${caller.environment}`
      const [agent] = await findRows(
        db,
        agents,
        sql`select ${columnsOf(agents)} from ${tableOf(dialect, agents)}
          where ${own} and id = ${idOf(dialect, 'agent', agentId)}`,
      )
      if (!agent) return { agent: undefined, mandate: undefined, risk: undefined }
      const [mandate] = await findRows(
        db,
        mandates,
        sql`select ${columnsOf(mandates)} from ${tableOf(dialect, mandates)}
          where ${own} and id = ${idOf(dialect, 'mandate', mandateId)}
            and agent_id = ${idOf(dialect, 'agent', agentId)}`,
      )
      return {
        agent: toAgent(agent),
        mandate: mandate && toMandate(mandate),
        risk: mandate && (await readRisk(mandate, question)),
      }
    },
  }
}
