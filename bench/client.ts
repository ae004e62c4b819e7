import assert from 'node:assert/strict'

import { answerParent } from './child.ts'
import {
  prepareExchanges,
  type Exchange,
  type Exchanges,
  type Flow,
  type Spread,
  type Target,
} from './flows.ts'
import { putUnderLoad, type LoadReport } from './load.ts'

/** A short time of load of one kind. */
export interface BlockOrder {
  readonly service: string
  /** `echo` sends the very requests that the service had in its last `verify` over many mandates. */
  readonly flow: Flow | 'echo'
  readonly clients: number
  readonly spread: Spread
  readonly seconds: number
}

/** What a block gave. */
export interface BlockReport extends LoadReport {
  /** How often a client was told that its payment is verified. */
  readonly captured: number
}

interface Service {
  readonly port: number
  readonly exchanges: Exchanges | undefined
  readonly fresh: Record<Spread, FreshProof[]>
  turn: number
  /** How many proofs of the pool the block that runs has used. */
  taken: number
}

/** A proof that is ready to be verified, while it is fresh. */
interface FreshProof {
  readonly exchange: Exchange
  readonly staleAtMs: number
}

/** Proofs are valid for five minutes; what is older than four is not used any more. */
const freshMs = 4 * 60_000
const seedingClients = 64

const services = new Map<string, Service>()
let lastVerified: Exchange[] = []

export const clientActs = {
  /** Tells where a service answers; what was prepared for one of this name is forgotten. */
  know({
    name,
    target,
  }: {
    readonly name: string
    readonly target: Target | { readonly port: number }
  }): void {
    const exchanges = 'key' in target ? prepareExchanges(target) : undefined
    services.set(name, { port: target.port, exchanges, fresh: { uniform: [], hot: [] }, turn: 0, taken: 0 })
  },

  /** Asks for proofs until so many are ready to be verified. */
  async seed(order: {
    readonly service: string
    readonly spread: Spread
    readonly count: number
  }): Promise<void> {
    const service = known(order.service)
    const nowMs = performance.now()
    const pool = service.fresh[order.spread].filter(({ staleAtMs }) => staleAtMs > nowMs)
    service.fresh[order.spread] = pool
    let missing = order.count - pool.length
    const { exchanges } = service
    assert(exchanges)
    const report = await putUnderLoad(service.port, seedingClients, Infinity, () => {
      if (missing-- <= 0) return undefined
      return {
        ...inTurn(service, exchanges.proof, order.spread),
        follow: (body) => {
          pool.push({ exchange: exchanges.verify(body), staleAtMs: nowMs + freshMs })
          return undefined
        },
      }
    })
    assert.equal(report.unexpected, 0, `a proof was refused: ${report.sample}`)
  },

  async block(order: BlockOrder): Promise<BlockReport> {
    const service = known(order.service)
    const report = await putUnderLoad(service.port, order.clients, order.seconds, supply(service, order))
    service.fresh[order.spread].splice(0, service.taken)
    service.taken = 0
    const captures = order.flow === 'verify' || order.flow === 'lifecycle'
    return { ...report, captured: captures ? report.operations - report.unexpected : 0 }
  },
}

answerParent(clientActs)

function known(name: string): Service {
  const service = services.get(name)
  assert(service, `no service ${name} is known`)
  return service
}

/** Where a block takes its exchanges from; undefined when there are no more. */
function supply(service: Service, { service: name, flow, spread }: BlockOrder): () => Exchange | undefined {
  if (flow === 'echo') {
    let index = 0
    // A fast echo may go through them more than once.
    return () => lastVerified[index++ % lastVerified.length]
  }
  const { exchanges } = service
  assert(exchanges)
  switch (flow) {
    case 'verify': {
      const pool = service.fresh[spread]
      if (name === 'service' && spread === 'uniform') lastVerified = pool.map(({ exchange }) => exchange)
      return () => {
        const fresh = pool[service.taken]
        if (fresh) service.taken++
        return fresh?.exchange
      }
    }
    case 'lifecycle':
      return () => ({ ...inTurn(service, exchanges.proof, spread), follow: exchanges.verify })
    case 'proof':
    case 'evaluate':
    case 'verify-agent':
      return () => inTurn(service, exchanges[flow], spread)
    default:
      return flow satisfies never
  }
}

/** The next in turn; the stride takes neighbours in time far apart in the store. */
function inTurn(service: Service, exchanges: readonly Exchange[], spread: Spread): Exchange {
  service.turn = (service.turn + stride) % exchanges.length
  const exchange = exchanges[spread === 'hot' ? 0 : service.turn]
  assert(exchange)
  return exchange
}

/** Prime, so that every mandate has its turn before one has its second. */
const stride = 617
