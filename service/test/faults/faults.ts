import { setTimeout as sleep } from 'node:timers/promises'

import type { SeededRandom } from '../../testing/seeded-random.ts'
import type { MortalPostgres } from './mortal-postgres.ts'
import type { PostgresProxy } from './postgres-proxy.ts'
import type { WireFault } from './proxied-connection.ts'
import type { Services } from './services.ts'

/** What can be broken in a run. */
export interface Victims {
  readonly proxy: PostgresProxy
  readonly postgres: MortalPostgres
  readonly services: Services
  readonly random: SeededRandom
}

interface FaultKind {
  readonly kind: string
  /** How often it is chosen, in proportion to the others. */
  readonly weight: number
  /** Injects the fault; false if there was no opportunity. */
  readonly strike: (victims: Victims) => Promise<boolean>
  /** A counter that each such fault increments; absent if the fault is invisible from outside. */
  readonly trace?: (victims: Victims) => number
}

const endedConnections = ({ proxy }: Victims) => proxy.endedConnections

/** How long a fault on the wire waits for its opportunity. */
const occasionMs = 3_000

/** Every kind of fault. */
export const faultKinds: readonly FaultKind[] = [
  {
    kind: 'cut one connection',
    weight: 8,
    strike: ({ proxy }) => Promise.resolve(proxy.cutOne()),
    trace: endedConnections,
  },
  {
    kind: 'cut every connection',
    weight: 5,
    strike: ({ proxy }) => {
      const hadAny = proxy.connectionCount > 0
      proxy.cutAll()
      return Promise.resolve(hadAny)
    },
    trace: endedConnections,
  },
  onTheWire('cut in the middle of a message', 8, endedConnections),
  onTheWire('lose COMMIT on its way', 12, endedConnections),
  onTheWire('lose the reply to COMMIT', 16, ({ proxy }) => proxy.untoldCommits),
  onTheWire('deliver COMMIT late', 16, endedConnections),
  onTheWire('swallow the reply to COMMIT', 6, ({ proxy }) => proxy.untoldCommits),
  {
    kind: 'stall the network',
    weight: 6,
    strike: async ({ proxy, random }) => {
      proxy.stall()
      await sleep(50 + random.below(2_000))
      proxy.flow()
      return true
    },
    trace: ({ proxy }) => proxy.silences,
  },
  {
    kind: 'turn new connections away',
    weight: 5,
    strike: async ({ proxy, random }) => {
      proxy.isRefusing = true
      proxy.cutAll()
      await sleep(100 + random.below(1_000))
      proxy.isRefusing = false
      return true
    },
    trace: endedConnections,
  },
  {
    kind: 'take locks in another order',
    weight: 6,
    strike: async ({ postgres, random }) => {
      const client = await postgres.connect()
      try {
        await client.query("begin; set local statement_timeout = '3s'")
        const { rows } = await client.query<{ id: string }>(
          'select id from mandates order by id desc limit 6',
        )
        for (const { id } of rows) {
          await client.query('select 1 from mandates where id = $1 for update', [id])
          await sleep(random.below(100))
        }
      } catch {
        // The server has chosen to abort this one.
      } finally {
        await client.end()
      }
      return true
    },
  },
  {
    kind: 'kill a backend of PostgreSQL',
    weight: 3,
    strike: async ({ postgres }) => {
      const hasStruck = await postgres.killBackend()
      await postgres.bringUp()
      return hasStruck
    },
    trace: endedConnections,
  },
  {
    kind: 'kill PostgreSQL',
    weight: 4,
    strike: async ({ postgres, random }) => {
      await postgres.kill()
      await sleep(random.below(500))
      await postgres.bringUp()
      return true
    },
    trace: ({ postgres }) => postgres.starts,
  },
  {
    kind: 'kill a service process',
    weight: 6,
    strike: async ({ services, random }) => {
      await services.killOne(random.below(100))
      return true
    },
    trace: ({ services }) => services.starts,
  },
  {
    kind: 'fill the disk',
    weight: 3,
    strike: async ({ postgres, random }) => {
      const { disk } = postgres
      if (!('fill' in disk)) return false
      disk.fill()
      await sleep(500 + random.below(1_000))
      disk.free()
      await postgres.bringUp()
      return true
    },
  },
]

function onTheWire(
  kind: WireFault,
  weight: number,
  trace: (victims: Victims) => number,
): Required<FaultKind> {
  return { kind, weight, strike: ({ proxy }) => proxy.strike(kind, occasionMs), trace }
}

/** This many faults in an order determined by the seed; every kind is included if there is room. */
export function planFaults(count: number, kinds: readonly FaultKind[], random: SeededRandom): FaultKind[] {
  const tickets = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))
  const chosen = kinds.slice(0, count)
  while (chosen.length < count) chosen.push(random.pick(tickets as [FaultKind, ...FaultKind[]]))
  for (let last = chosen.length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const [left, right] = [chosen[last], chosen[other]]
    if (left && right) [chosen[last], chosen[other]] = [right, left]
  }
  return chosen
}
