import type { Purser } from '@purser/client'

/** What somebody might write where a name is expected. Each would be seen by the test if it were ever more than text. */
export const hostileText = {
  script: `<script>alert('script')</script>`,
  image: `"><img src=x onerror="alert('image')">`,
  frame: `<iframe srcdoc="<script>parent.alert('frame')</script>"></iframe>`,
  link: `javascript:alert('link')`,
  template: '${alert(1)}{{constructor.constructor("alert(1)")()}}',
} as const

/** Puts hostile text wherever the interface takes text of anybody's choosing. */
export async function seedHostileText(purser: Purser): Promise<void> {
  const all = Object.values(hostileText).join(' ')
  const agent = await purser.agents.create({ name: all, description: all, capabilities: [all] })
  const mandate = await purser.mandates.create({
    agent_id: agent.id,
    purpose: all,
    max_spend_total: '50.00',
    max_spend_per_transaction: '5.00',
    allowed_sellers: ['*', hostileText.image],
    allowed_categories: [hostileText.frame],
    expires_at: '2099-01-01T00:00:00Z',
  })
  await purser.sellers.create({
    name: all,
    domain: 'hostile.example',
    price_config: { [hostileText.image]: all },
  })
  await purser.apiKeys.create({
    role: 'agent',
    environment: 'sandbox',
    agent_id: agent.id,
    label: all.slice(0, 200),
  })
  await purser.policy.evaluate({
    agent_id: agent.id,
    mandate_id: mandate.id,
    amount: '1.00',
    merchant_domain: all,
    resource_url: `https://hostile.example/?q=${encodeURIComponent(all)}#${hostileText.image}`,
    category: hostileText.script,
  })
}
