import { z } from 'zod'

import { describeDenial, remedyFor, spendableNow } from '../reason.ts'
import { sellerFor } from '../sellers.ts'
import { Address, Amount, Category, MandateId } from './fields.ts'
import { defineTool, readsOnly } from './tool.ts'

export const checkPayment = defineTool({
  name: 'check_payment',
  title: 'Check a payment',
  description:
    'Checks whether a payment would be allowed now, without paying, holding or recording anything. If not, ' +
    'it returns the reason and a remedy. Another purchase may use up the budget in the meantime.',
  annotations: readsOnly,
  input: z.object({
    resource_url: Address.describe('The URL to buy.'),
    amount: Amount.describe('The price in USDC as text, for example "4.00".'),
    category: Category,
    mandate_id: MandateId,
  }),
  output: z.object({
    outcome: z.enum(['would_be_allowed', 'would_need_approval', 'would_be_denied']),
    reason_code: z.string().nullable(),
    reason_detail: z.string().nullable(),
    remedy: z.string().nullable(),
    mandate_id: z.string().nullable(),
    spendable_now: z.string().nullable().describe('What is left of the mandate for new payments.'),
    risk_flags: z.array(z.string()).describe('What is unusual about the payment; not a denial.'),
  }),
  run: async (wallet, input, { signal }) => {
    const { id: agentId } = await wallet.agent(signal)
    const choice = await wallet.chooseMandate(input.mandate_id, signal)
    const nothing = { mandate_id: null, spendable_now: null, risk_flags: [] }
    if ('reason' in choice) return { outcome: 'would_be_denied' as const, ...choice.reason, ...nothing }
    const { mandate } = choice
    const host = new URL(input.resource_url).hostname
    const seller = sellerFor(mandate, host) ?? host
    const report = await wallet.client.verifyAgent(
      {
        agent_id: agentId,
        mandate_id: mandate.id,
        merchant_domain: seller,
        amount: input.amount,
        resource_url: input.resource_url,
        category: input.category ?? null,
      },
      { signal },
    )
    const isUsable = !['agent_revoked', 'mandate_expired'].includes(report.reason_code)
    const facts = {
      mandate_id: mandate.id,
      spendable_now: isUsable ? spendableNow(mandate) : '0.00',
      risk_flags: report.risk.flags,
    }
    if (report.reason_code === 'within_policy') {
      return { outcome: 'would_be_allowed' as const, ...allowed, ...facts }
    }
    const needsApproval = report.reason_code === 'approval_required'
    return {
      outcome: needsApproval ? ('would_need_approval' as const) : ('would_be_denied' as const),
      reason_code: report.reason_code,
      reason_detail: describeDenial(report.reason_code, mandate, input.amount, seller),
      remedy: remedyFor(report.reason_code, mandate),
      ...facts,
    }
  },
  tell: ({ outcome, reason_code, reason_detail, remedy, spendable_now, risk_flags }) =>
    outcome === 'would_be_allowed'
      ? `The payment would be allowed; ${spendable_now} can be spent now. ${risk_flags.length > 0 ? `Unusual: ${risk_flags.join(', ')}.` : ''}`.trim()
      : `The payment ${outcome === 'would_need_approval' ? 'would need approval' : 'would be denied'}: ${reason_detail} (${reason_code})\nWhat to do: ${remedy}`,
})

const allowed = { reason_code: null, reason_detail: null, remedy: null }
