import { issueKey, preparePurchase, type TestService } from '../../../service/testing/service.ts'
import { merchantDomain, startMerchant, type MerchantOptions } from '../../client/testing/merchant.ts'
import { testCommand } from './command.ts'

/** An agent with its own key and a mandate of 10.00, at most 5.00 per payment; and a merchant that charges 4.00. */
export async function openMarket(
  context: { readonly after: (clean: () => void | Promise<void>) => void },
  service: TestService,
  options: MerchantOptions = {},
) {
  const merchant = await startMerchant(context, service, options)
  const limits = {
    max_spend_total: '10.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [merchantDomain],
  }
  const { agentId, mandateId } = await preparePurchase(service, limits)
  const key = await issueKey(service, { role: 'agent', agent_id: agentId })
  const command = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: key })
  const sums = async () => {
    const { body } = await service.call('GET', `/mandates/${mandateId}`)
    return { spent: body.spent_total, held: body.held_total }
  }
  const addMandate = () =>
    service.call('POST', '/mandates', {
      body: { ...limits, agent_id: agentId, purpose: 'more', expires_at: '2099-01-01T00:00:00Z' },
    })
  return { ...command, merchant, mandateId, sums, addMandate }
}
