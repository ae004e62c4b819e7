import { normalizeHostName } from '../../domain/host-name.ts'
import type { Mandate } from '../../domain/records.ts'
import type { RiskFacts } from '../../domain/risk.ts'
import { recentTransactions, riskFactsOf } from '../risk-facts.ts'
import type { AgentFacts, AgentQuestion } from '../store.ts'
import type { AccountActs } from './account-acts.ts'
import type { AgentActs } from './agent-acts.ts'
import type { MandateActs } from './mandate-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'
import type { SellerActs } from './seller-acts.ts'
import type { TransactionLists } from './transaction-lists.ts'

/** What verify-agent reports on; each read looks at a bounded number of rows. */
export function prepareAgentFacts(
  db: SqliteDatabase,
  acts: AgentActs &
    MandateActs &
    SellerActs &
    Pick<TransactionLists, 'latest'> &
    Pick<AccountActs, 'isDisabled'>,
) {
  const selectAccountOf = db
    .prepare<[string], string>('select account_id from record_accounts where id = ?')
    .pluck()
  const hasPaid = db
    .prepare('select 1 from paid_sellers where account_id = ? and mandate_id = ? and merchant_domain = ?')
    .pluck()
  /** The account whose agent the caller may ask about: its own, or that of a customer of its seller that is not disabled. */
  function accountToAsk({ caller, agentId, merchantDomain }: AgentQuestion): string {
    const owner = selectAccountOf.get(agentId)
    if (owner === undefined || owner === caller.accountId || acts.isDisabled(owner)) return caller.accountId
    const seller = acts.findSellerByDomain(caller.environment, normalizeHostName(merchantDomain))
    return seller?.accountId === caller.accountId ? owner : caller.accountId
  }

  function riskFacts(mandate: Mandate, merchantDomain: string, nowMs: number): RiskFacts {
    const { accountId, id } = mandate
    const recent = acts.latest(accountId, id, recentTransactions)
    const hasPaidThisSeller = hasPaid.get(accountId, id, normalizeHostName(merchantDomain)) !== undefined
    return riskFactsOf(mandate, recent, { hasPaidThisSeller, nowMs })
  }

  return {
    readAgentFacts(question: AgentQuestion): AgentFacts {
      const scope = { accountId: accountToAsk(question), environment: question.caller.environment }
      const agent = acts.findAgent({ ...scope, id: question.agentId })
      const found = agent && acts.findMandate({ ...scope, id: question.mandateId })
      const mandate = found?.agentId === agent?.id ? found : undefined
      return {
        agent,
        mandate,
        risk: mandate && riskFacts(mandate, question.merchantDomain, question.nowMs),
      }
    },
  }
}
