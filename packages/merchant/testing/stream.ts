import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'

import { Purser } from '@purser/client'
import type { Challenge } from '@purser/merchant'

import { issueKey, preparePurchase, type TestService } from '../../../service/testing/service.ts'
import { encode } from './purchase.ts'
import { totalMegabytes, type StreamingOrder, type StreamingReport } from './streaming-merchant.ts'

/** Buys one large response through an adapter, and measures the memory of the merchant's process. */
export function streamThrough(
  order: Pick<StreamingOrder, 'adapter' | 'nextBuild' | 'capture'>,
  service: TestService,
): void {
  const isMetered = order.capture === 'metered'
  test(`${order.adapter} sells ${totalMegabytes} MB${isMetered ? ', metered,' : ''} without buffering them`, async (context) => {
    const apiKey = await issueKey(service, { role: 'merchant' })
    const { agentId, mandateId } = await preparePurchase(service)
    const agent = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
    const merchant = fork(join(import.meta.dirname, 'streaming-merchant.ts'))
    context.after(() => merchant.kill('SIGKILL'))
    merchant.send({ ...order, serviceUrl: service.url, apiKey } satisfies StreamingOrder)
    const [{ url }] = (await once(merchant, 'message')) as [{ url: string }]
    const reported = once(merchant, 'message') as Promise<[StreamingReport]>

    const challenge = (await (await fetch(`${url}/stream`)).json()) as Challenge
    const decision = await agent.payments.requestProof({
      agent_id: agentId,
      mandate_id: mandateId,
      amount: challenge.amount,
      resource_url: challenge.resource,
    })
    assert(decision.decision === 'approved')
    const headers = { 'x-payment-proof': encode(decision.proof) }
    const [answer] = (await once(get(`${url}/stream`, { headers }), 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 200)
    // The head of a metered response leaves before it is charged.
    assert.equal('x-payment-receipt' in answer.headers, !isMetered)
    let bytes = 0
    for await (const chunk of answer) bytes += (chunk as Uint8Array).length
    assert.equal(bytes, totalMegabytes * 2 ** 20)

    const [{ liveGrowthMb, residentGrowthMb }] = await reported
    context.diagnostic(`live +${liveGrowthMb.toFixed(1)} MB, resident +${residentGrowthMb.toFixed(1)} MB`)
    // Some chunks are in flight, and garbage is released a little later.
    assert(liveGrowthMb < 25, `${liveGrowthMb} MB were held`)
    assert(residentGrowthMb < 50, `the process grew by ${residentGrowthMb} MB`)
  })
}
