import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { Purser } from '@purser/client'
import { createPaymentGate } from '@purser/merchant'
import { requirePayment } from '@purser/merchant/node'

import { answerParent } from '../child.ts'
import { amount, merchantDomain } from '../flows.ts'
import { Histogram } from '../histogram.ts'

/** What a merchant sells for free and for a payment: the same few bytes. */
const goods = JSON.stringify({ rows: [1, 2, 3] })

interface OpenOrder {
  readonly serviceUrl: string
  readonly key: string
}

function sell(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': goods.length }).end(goods)
}

let waits = new Histogram()

const server = createServer()

export const merchantActs = {
  /** A merchant in front of the service, on a free port: `/free` is unprotected, everything else is paid. */
  async open({ serviceUrl, key }: OpenOrder): Promise<number> {
    const client = new Purser({ apiKey: key, baseUrl: serviceUrl, fetch: timedFetch })
    const paid = requirePayment({ client, merchantDomain, price: amount }, (_, response) => sell(response))
    server.on('request', (request, response) => {
      if (request.url !== '/free') return paid(request, response)
      return sell(response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  },
  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),
  /**
   * The median duration of calls to the service since the last question, in microseconds, as measured by the
   * merchant.
   */
  waitedMicros(): number {
    const median = waits.percentile(0.5)
    waits = new Histogram()
    return median
  },
  /**
   * The time to parse a proof, compare its resource and write a refusal, in microseconds, without calling the
   * service.
   */
  async decodeMicros(header: string): Promise<number> {
    const client = new Purser({ apiKey: null })
    const decide = createPaymentGate({ client, merchantDomain, price: amount })
    const asked = { method: 'GET', target: '/another', proof: header, request: undefined }
    const rounds = 20_000
    for (let round = 0; round < rounds / 10; round++) await decide(asked)
    const before = process.cpuUsage()
    for (let round = 0; round < rounds; round++) await decide(asked)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / rounds
  },
}

answerParent(merchantActs, async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const timedFetch: typeof fetch = async (input, init) => {
  const startMs = performance.now()
  try {
    return await fetch(input, init)
  } finally {
    waits.record((performance.now() - startMs) * 1000)
  }
}
