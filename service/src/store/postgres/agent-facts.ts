import type { Pool, QueryConfig } from 'pg'

import { normalizeHostName } from '../../domain/host-name.ts'
import { recentTransactions, riskFactsOf } from '../risk-facts.ts'
import { toAgent, toMandate, type AgentRow, type MandateRow, type TransactionRow } from '../rows.ts'
import type { AgentFacts, AgentQuestion } from '../store.ts'
import { storable } from '../ledger/postgres/connection.ts'
import { askOnce } from '../ledger/postgres/ask-once.ts'
import { localSetting } from '../ledger/postgres/local-settings.ts'

/** What verify-agent reports on; each read looks at a bounded number of rows. */
export async function readAgentFacts(pool: Pool, question: AgentQuestion): Promise<AgentFacts> {
  const { caller, agentId, mandateId, nowMs } = question
  const merchantDomain = normalizeHostName(question.merchantDomain)
  const accountId = await accountToAsk(pool, question)
  const [, , agents, mandates, paid, recent] = await askOnce(pool, [
    begin,
    keepPlans,
    query('agent', 'select * from agents where account_id = $1 and id = $2 and environment = $3', [
      accountId,
      agentId,
      caller.environment,
    ]),
    query(
      'mandate',
      'select * from mandates where account_id = $1 and id = $2 and environment = $3 and agent_id = $4',
      [accountId, mandateId, caller.environment, agentId],
    ),
    query(
      'paid_seller',
      `select 1 from paid_sellers
       where account_id = $1 and mandate_id = $2 and md5(merchant_domain) = md5($3) and merchant_domain = $3`,
      [accountId, mandateId, merchantDomain],
    ),
    query(
      'recent',
      `select status, created_at_ms from transactions where account_id = $1 and mandate_id = $2
       order by id desc limit $3`,
      [accountId, mandateId, recentTransactions],
    ),
    { text: 'commit' },
  ])
  const [agentRow] = (agents?.rows ?? []) as AgentRow[]
  const [mandateRow] = (mandates?.rows ?? []) as MandateRow[]
  const agent = agentRow && toAgent(agentRow)
  const mandate = agent && mandateRow && toMandate(mandateRow)
  return {
    agent,
    mandate,
    risk:
      mandate &&
      riskFactsOf(mandate, (recent?.rows ?? []) as TransactionRow[], {
        hasPaidThisSeller: (paid?.rows.length ?? 0) > 0,
        nowMs,
      }),
  }
}

/** The account whose agent the caller may ask about: its own, or that of a customer of its seller that is not disabled. */
async function accountToAsk(pool: Pool, { caller, agentId, merchantDomain }: AgentQuestion): Promise<string> {
  const { rows } = await pool.query<{ owner: string | null; seller: string | null }>(
    query(
      'account',
      `select (select r.account_id from record_accounts r
           join accounts a on a.id = r.account_id and a.disabled_at_ms is null where r.id = $1) as owner,
         (select account_id from seller_domains where environment = $2 and domain = $3) as seller`,
      [agentId, caller.environment, normalizeHostName(merchantDomain)],
    ),
  )
  const { owner = null, seller = null } = rows[0] ?? {}
  return owner !== null && seller === caller.accountId ? owner : caller.accountId
}

const begin = query('begin', 'begin isolation level repeatable read read only')

/** Plans are kept, as those of payments are (`transaction.ts`), so none may be made for small tables only. */
const keepPlans = query('settings', `select ${localSetting('enable_seqscan', 'off')}`)

/** Named, so that the server parses it once for each connection. */
function query(name: string, text: string, values: readonly unknown[] = []): QueryConfig {
  return { name: `purser_facts_${name}`, text, values: values.map(storable) }
}
