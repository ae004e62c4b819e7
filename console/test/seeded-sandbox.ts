import { Purser, type Agent, type Mandate } from '@purser/client'

import { seededRandom } from '../../service/testing/seeded-random.ts'
import type { TestService } from '../../service/testing/service.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** What a believable sandbox is made of. */
export interface SeededSandbox {
  readonly purser: Purser
  readonly agents: Readonly<Record<'research' | 'travel' | 'crawler' | 'retired', Agent>>
  readonly mandates: readonly Mandate[]
}

/**
 * Fills a service with thirty days of agents that buy: mandates in every state, payments that are denser in the
 * last hours, denials for every reason, open holds. The service's clock ends at `endMs`. With fewer days and hours it
 * is a smaller one.
 */
export async function seedSandbox(
  service: TestService,
  endMs: number,
  { hours = 24, days = 28 }: { readonly hours?: number; readonly days?: number } = {},
): Promise<SeededSandbox> {
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const { below } = seededRandom(20_261_121)
  const clock = service.clock
  clock.nowMs = endMs - 30 * dayMs

  const sellers = [
    ['Weather archive', 'data.weather.example'],
    ['Papers', 'api.papers.example'],
    ['Rail fares', 'fares.rail.example'],
    ['Maps', 'tiles.maps.example'],
  ] as const
  for (const [name, domain] of sellers)
    await purser.sellers.create({ name, domain, price_config: { default: '0.10' } })

  const agents = {
    research: await purser.agents.create({
      name: 'research-bot',
      description: 'Reads papers and weather records for the climate desk',
      capabilities: ['search', 'purchase'],
    }),
    travel: await purser.agents.create({ name: 'travel-planner', description: 'Finds and books rail fares' }),
    crawler: await purser.agents.create({ name: 'map-crawler', description: 'Keeps the map tiles fresh' }),
    retired: await purser.agents.create({ name: 'prototype-7', description: 'The first try, in October' }),
  }
  for (const agent of Object.values(agents)) {
    await purser.apiKeys.create({
      role: 'agent',
      environment: 'sandbox',
      agent_id: agent.id,
      label: `${agent.name} on worker-1`,
    })
  }
  await purser.apiKeys.create({
    role: 'merchant',
    environment: 'sandbox',
    label: 'Weather archive, web server',
  })

  function mandate(
    agent: Agent,
    purpose: string,
    [total, cap]: [string, string],
    sellers: string[],
    days = 45,
  ) {
    return purser.mandates.create({
      agent_id: agent.id,
      purpose,
      max_spend_total: total,
      max_spend_per_transaction: cap,
      allowed_sellers: sellers,
      expires_at: new Date(endMs + days * dayMs).toISOString(),
    })
  }
  const weather = await mandate(
    agents.research,
    'Hourly weather records, 1990 to today',
    ['400.00', '5.00'],
    ['data.weather.example'],
  )
  const papers = await mandate(
    agents.research,
    'Papers on heat pumps',
    ['120.00', '12.50'],
    ['api.papers.example'],
  )
  const fares = await mandate(
    agents.travel,
    'Fares for the Lisbon offsite',
    ['900.00', '140.00'],
    ['fares.rail.example'],
    12,
  )
  const tiles = await mandate(
    agents.crawler,
    'Map tiles, northern Europe',
    ['60.00', '0.50'],
    ['tiles.maps.example'],
  )
  const anything = await mandate(agents.crawler, 'Try whatever looks useful', ['25.00', '2.00'], ['*'])
  const photos = await mandate(
    agents.travel,
    'Photos for the travel report',
    ['80.00', '10.00'],
    ['api.papers.example'],
    3,
  )
  const expired = await mandate(
    agents.retired,
    'October trial',
    ['50.00', '5.00'],
    ['api.papers.example'],
    -4,
  )
  const closed = await mandate(
    agents.research,
    'One-off: census tables',
    ['30.00', '30.00'],
    ['api.papers.example'],
  )

  /** Buys for an amount; a refusal is fine, and recorded. */
  async function buy({ agent_id, id }: Mandate, domain: string, amount: string, path: string): Promise<void> {
    const payment = { agent_id, mandate_id: id, amount, resource_url: `https://${domain}/${path}` }
    const decision = await purser.policy.evaluate({ ...payment, merchant_domain: domain })
    if (decision.decision === 'denied') return
    const answer = await purser.payments.requestProof(payment)
    if (answer.decision === 'denied') return
    clock.nowMs += 800
    await purser.payments.verify({ proof: answer.proof, merchant_domain: domain, expected_amount: amount })
  }
  /** What goes wrong at a merchant: another amount, a changed proof, one that was used, one that is too old. */
  async function failVerifications(): Promise<void> {
    const domain = 'data.weather.example'
    const payment = {
      agent_id: weather.agent_id,
      mandate_id: weather.id,
      amount: '0.80',
      resource_url: `https://${domain}/stations/9`,
    }
    const answer = await purser.payments.requestProof(payment)
    if (answer.decision === 'denied') return
    const asked = { proof: answer.proof, merchant_domain: domain, expected_amount: '0.80' }
    for (const expected_amount of ['0.90', '1.00', '8.00'])
      await purser.payments.verify({ ...asked, expected_amount })
    await purser.payments.verify({ ...asked, proof: { ...answer.proof, resource: `https://${domain}/bulk` } })
    await purser.payments.verify(asked)
    await purser.payments.verify(asked)
    const old = { ...answer.proof, timestamp: new Date(clock.nowMs - 7_200_000).toISOString() }
    await purser.payments.verify({ ...asked, proof: old })
  }
  const cents = (from: number, to: number) => ((from + below(to - from)) / 100).toFixed(2)
  async function wander(): Promise<void> {
    const which = below(1000) / 1000
    if (which < 0.44) await buy(weather, 'data.weather.example', cents(40, 260), `stations/${below(900)}`)
    else if (which < 0.58) await buy(tiles, 'tiles.maps.example', cents(8, 34), `6/${below(60)}/21.png`)
    else if (which < 0.72)
      await buy(papers, 'api.papers.example', cents(250, 990), `papers/${below(9000)}.pdf`)
    else if (which < 0.84) await buy(fares, 'fares.rail.example', cents(2900, 7900), 'quotes/LIS-MAD')
    else if (which < 0.9) await buy(anything, 'data.weather.example', cents(30, 160), 'radar')
    // What is refused, for each of the reasons.
    else if (which < 0.93) await buy(weather, 'data.weather.example', cents(510, 900), 'bulk/1990.zip')
    else if (which < 0.955) await buy(tiles, 'cheap-tiles.example', cents(10, 40), '6/33/21.png')
    else if (which < 0.975) await buy(photos, 'api.papers.example', cents(1100, 1900), 'photos/set-4')
    else await buy(expired, 'api.papers.example', cents(100, 400), 'papers/12.pdf')
  }

  for (const daysAgo of Array.from({ length: days }, (_, day) => days + 1 - day)) {
    clock.nowMs = endMs - daysAgo * dayMs
    for (let purchase = 0; purchase < 2; purchase++) {
      clock.nowMs += below(9 * hourMs)
      await wander()
    }
  }
  await purser.agents.revoke(agents.retired.id)
  await purser.mandates.revoke(closed.id)
  for (let hour = hours; hour > 0; hour--) {
    const startMs = endMs - hour * hourMs + 60_000
    const purchases = 2 + below(hour > 8 && hour < 17 ? 4 : 9)
    for (let purchase = 0; purchase < purchases; purchase++) {
      clock.nowMs = Math.max(clock.nowMs, startMs + Math.floor((purchase / purchases) * (hourMs - 120_000)))
      await wander()
    }
  }
  clock.nowMs = endMs - 90_000
  await purser.mandates.pause(photos.id)
  for (const amount of ['1.20', '2.05', '0.95']) {
    await purser.payments.requestProof({
      agent_id: weather.agent_id,
      mandate_id: weather.id,
      amount,
      resource_url: 'https://data.weather.example/stations/114',
    })
  }
  await failVerifications()
  clock.nowMs = endMs
  return { purser, agents, mandates: [weather, papers, fares, tiles, anything, photos, expired, closed] }
}
