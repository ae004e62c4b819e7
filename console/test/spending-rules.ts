import { Purser, type Agent, type Budget, type Mandate } from '@purser/client'

import type { TestService } from '../../service/testing/service.ts'

/** A mandate with limits below two shared budgets, and what happened under it. */
export interface SpendingRules {
  readonly mandate: Mandate
  readonly budget: Budget
  /** A decision that a limit denied. */
  readonly denialId: string
}

const domain = 'api.papers.example'
const day = { calendar: 'day', time_zone: 'Europe/Berlin' } as const
const month = { calendar: 'month', time_zone: 'Europe/Berlin' } as const

/** Three budgets, of which two add up to more than the one above, and a mandate with limits that is nearly used up. */
export async function addSpendingRules(
  service: TestService,
  agent: Pick<Agent, 'id'>,
): Promise<SpendingRules> {
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const budgetOf = (name: string, max_amount: string, parent_id: string | null) =>
    purser.budgets.create({ name, parent_id, limits: [{ window: month, max_amount }] })
  const company = await budgetOf('Company', '1000.00', null)
  const budget = await budgetOf('Climate desk', '700.00', company.id)
  const travel = await budgetOf('Travel', '600.00', company.id)
  await purser.budgets.freeze(travel.id)
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Reports on wind power',
    max_spend_total: '400.00',
    max_spend_per_transaction: '12.50',
    allowed_sellers: [domain],
    allowed_resources: [`https://${domain}/reports/*`],
    limits: [
      { window: day, max_amount: '20.00', max_count: 5 },
      { window: { rolling_seconds: 3_600 }, max_count: 4, action: 'require_approval' },
      { window: { ...month, day_of_month: 15 }, max_amount: '60.00', per: 'seller', action: 'notify' },
    ],
    budget_id: budget.id,
    approval: { above: '10.00', first_purchase_at_seller: false, required: 1 },
    metadata: { project: 'apollo' },
    expires_at: new Date(service.clock.nowMs + 60 * 86_400_000).toISOString(),
  })
  const purchase = {
    agent_id: agent.id,
    mandate_id: mandate.id,
    resource_url: `https://${domain}/reports/2026`,
  }
  for (const amount of ['9.00', '8.50']) {
    const granted = await purser.payments.requestProof({ ...purchase, amount })
    if (granted.decision === 'denied') throw new Error(granted.reason_detail)
    await purser.payments.verify({ proof: granted.proof, merchant_domain: domain, expected_amount: amount })
  }
  const { transaction_id } = await purser.policy.evaluate({
    ...purchase,
    amount: '3.00',
    merchant_domain: domain,
  })
  const amended = await purser.mandates.amend(mandate.id, 1, { max_spend_per_transaction: '11.00' })
  return { mandate: amended, budget, denialId: transaction_id }
}
