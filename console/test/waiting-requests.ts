import { Purser, type Agent, type ApprovalRequest, type Mandate } from '@purser/client'

import { issueKey, type TestService } from '../../service/testing/service.ts'

/** What waits for a person. */
export interface WaitingRequests {
  readonly mandate: Mandate
  /** The client of the agent that asked. */
  readonly asAgent: Purser
  readonly payment: ApprovalRequest
  readonly increase: ApprovalRequest
}

const dayInBerlin = { calendar: 'day', time_zone: 'Europe/Berlin' } as const

/** A mandate whose payments above 10.00 a person approves: one waits, as does a request for more budget. */
export async function askForApproval(
  service: TestService,
  agent: Pick<Agent, 'id'>,
  { required = 1 }: { readonly required?: 1 | 2 } = {},
): Promise<WaitingRequests> {
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: 'Reports on heat storage',
    max_spend_total: '150.00',
    max_spend_per_transaction: '60.00',
    allowed_sellers: ['reports.energy.example'],
    approval: { above: '10.00', required },
    limits: [
      { window: dayInBerlin, max_amount: '120.00' },
      { window: 'lifetime', max_count: 12 },
    ],
    expires_at: new Date(service.clock.nowMs + 20 * 86_400_000).toISOString(),
  })
  const apiKey = await issueKey(service, { role: 'agent', agent_id: agent.id })
  const asAgent = new Purser({ apiKey, baseUrl: service.url })
  await asAgent.payments.requestProof({
    agent_id: agent.id,
    mandate_id: mandate.id,
    amount: '42.50',
    resource_url: 'https://reports.energy.example/storage/2026',
  })
  service.clock.nowMs += 1_000
  const increase = await asAgent.mandates.requestIncrease(mandate.id, {
    max_spend_total: '400.00',
    max_spend_per_transaction: '90.00',
    limits: [
      { window: dayInBerlin, max_amount: '360.00' },
      { window: 'lifetime', max_count: 12 },
    ],
    reason: 'The four quarterly reports cost 85.00 each.',
  })
  const waiting = await purser.approvals.list({ mandate_id: mandate.id }).toArray({ limit: 2 })
  const payment = waiting.find(({ kind }) => kind === 'payment')
  if (!payment) throw new Error('no payment waits')
  return { mandate, asAgent, payment, increase }
}
