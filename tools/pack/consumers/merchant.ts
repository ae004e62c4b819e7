// A program that uses the installed package: a paid endpoint of each kind that needs no framework.
import { createServer } from 'node:http'

import { Purser, wrapFetchWithPayment } from '@purser/client'
import { createPaymentGate, type Challenge, type Decision, type PaymentOptions } from '@purser/merchant'
import { requirePayment as forExpress } from '@purser/merchant/express'
import { requirePayment as forFastify } from '@purser/merchant/fastify'
import { requirePayment as forFetch } from '@purser/merchant/fetch'
import { requirePayment as forHono } from '@purser/merchant/hono'
import { requirePayment as forNext } from '@purser/merchant/next'
import { requirePayment as forNode } from '@purser/merchant/node'

const { PURSER_URL = '', PURSER_KEY = '' } = process.env
const client = new Purser({ apiKey: PURSER_KEY, baseUrl: PURSER_URL })
const agent = await client.agents.create({ name: 'research-bot' })
const mandate = await client.mandates.create({
  agent_id: agent.id,
  purpose: 'Buy research data',
  max_spend_total: '10.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['api.example.com', 'localhost'],
  expires_at: '2099-01-01T00:00:00Z',
})
const ids = { agentId: agent.id, mandateId: mandate.id }
const options: PaymentOptions = { client, merchantDomain: 'api.example.com', price: '1.00' }
for (const middleware of [forExpress(options), forFastify(options), forHono(options)]) {
  if (typeof middleware !== 'function') throw new Error('no middleware')
}

// Fetch and Next: a handler is a function, so no server is needed.
const goods = () => Response.json({ rows: [1, 2, 3] })
for (const sell of [forFetch(options, goods), forNext(options, goods)]) {
  const fetchHere: typeof fetch = async (input, init) => sell(new Request(input, init))
  const answer = await wrapFetchWithPayment(fetchHere, { client, ...ids })('https://api.example.com/data')
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  if (answer.headers.get('x-payment-receipt') === null) throw new Error('there is no receipt')
}

// node:http, over a connection.
let publicUrl = ''
const server = createServer((request, response) => {
  const price = (asked: typeof request): string => (asked.url === '/data' ? '2.00' : '4.00')
  forNode({ client, merchantDomain: 'localhost', publicUrl, price }, (_, paid) => paid.end('rows'))(
    request,
    response,
  )
})
await new Promise<void>((resolve) => server.listen(0, resolve))
const address = server.address()
publicUrl = `http://localhost:${typeof address === 'object' ? address?.port : ''}`
const paid = await wrapFetchWithPayment(fetch, { client, ...ids })(`${publicUrl}/data`)
if ((await paid.text()) !== 'rows') throw new Error(`${paid.status}`)
server.close()
server.closeAllConnections()

// Anything else: the gate itself.
const decide = createPaymentGate(options)
const decision: Decision = await decide({
  method: 'GET',
  target: '/data',
  proof: undefined,
  request: undefined,
})
if (decision.outcome !== 'challenge') throw new Error(decision.outcome)
const challenge = JSON.parse(decision.answer.body) as Challenge
if (challenge.resource !== 'https://api.example.com/data') throw new Error(challenge.resource)

if ((await client.mandates.get(mandate.id)).spent_total !== '4.00') throw new Error('the sum is wrong')
console.log('done')
