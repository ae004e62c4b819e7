import { issueKey, preparePurchase, type TestService } from '../../../service/testing/service.ts'
import { Purser, wrapFetchWithPayment, type PaymentDecision, type PaymentOptions } from '../src/client.ts'
import { merchantDomain, startMerchant, type MerchantOptions } from './merchant.ts'

/**
 * An agent with its own key and a mandate for 10.00, at most 5.00 per payment, at a merchant that charges
 * 4.00.
 */
export async function openMarket(
  context: { readonly after: (stop: () => Promise<void>) => void },
  service: TestService,
  merchantOptions: MerchantOptions = {},
  terms: Readonly<Record<string, unknown>> = {},
) {
  const merchant = await startMerchant(context, service, merchantOptions)
  const { agentId, mandateId } = await preparePurchase(service, {
    max_spend_total: '10.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [merchantDomain],
    ...terms,
  })
  const apiKey = await issueKey(service, { role: 'agent', agent_id: agentId })
  const client = new Purser({ apiKey, baseUrl: service.url })
  const decisions: PaymentDecision[] = []
  const pauses: number[] = []
  /** Records pauses instead of waiting, each half of its max. */
  const impatient = {
    random: () => 0.5,
    sleep: async (milliseconds: number) => void pauses.push(milliseconds),
  }
  const pay = (options: Partial<PaymentOptions> = {}, fetch: typeof globalThis.fetch = globalThis.fetch) =>
    wrapFetchWithPayment(fetch, {
      client,
      agentId,
      mandateId,
      onDecision: (decision) => void decisions.push(decision),
      ...impatient,
      ...options,
    })
  const budget = async () => {
    const { spent_total, held_total } = await client.mandates.get(mandateId)
    return { spent: spent_total, held: held_total }
  }
  return { merchant, apiKey, client, agentId, mandateId, decisions, pauses, impatient, pay, budget }
}
