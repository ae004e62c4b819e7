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

/** A short run of one kind of load. */
export interface BlockOrder {
  readonly service: string
  /** `echo` sends the same requests that the service received in its last `verify` over many mandates. */
  readonly flow: Flow | 'echo'
  readonly clients: number
  readonly spread: Spread
  readonly seconds: number
}

/** The result of a block. */
export interface BlockReport extends LoadReport {
  /** How often a client was told that its payment is verified. */
  readonly captured: number
}

interface Service {
  readonly port: number
  readonly exchanges: Exchanges | undefined
  readonly fresh: Record<Spread, FreshProof[]>
  turn: number
  /** How many proofs of the pool the current block has used. */
  taken: number
}

/** A proof that is ready to be verified while it is fresh. */
interface FreshProof {
  readonly exchange: Exchange
  readonly staleAtMs: number
}

/** Proofs are valid for five minutes; those older than four are not used. */
const freshMs = 4 * 60_000
const seedingClients = 64

const services = new Map<string, Service>()
let lastVerified: Exchange[] = []

export const clientActs = {
  /** Sets the address of a service; drops what was prepared for an earlier one of this name. */
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

  /** Requests proofs until this many are ready to be verified. */
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
  assert(service, `unknown service ${name}`)
  return service
}

/** The source of a block's exchanges; undefined when there are no more. */
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

/** The next item; the stride keeps consecutive items far apart in the store. */
function inTurn(service: Service, exchanges: readonly Exchange[], spread: Spread): Exchange {
  service.turn = (service.turn + stride) % exchanges.length
  const exchange = exchanges[spread === 'hot' ? 0 : service.turn]
  assert(exchange)
  return exchange
}

/** A prime, so that every mandate is used once before any is used twice. */
const stride = 617
