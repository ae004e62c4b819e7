import { Histogram } from './histogram.ts'
import type { Block, Order } from './rig.ts'

/** A figure that a run must reach: the median over its rounds. */
export interface Verdict {
  readonly id: string
  readonly name: string
  /** One value a round. */
  readonly values: readonly number[]
  readonly median: number
  readonly bound: { readonly least: number } | { readonly most: number }
  readonly unit: '' | ' ms'
  readonly isMet: boolean
}

type Kind = Pick<Order, 'service' | 'flow' | 'clients' | 'spread'>

const many: Kind = { service: 'service', flow: 'verify', clients: 64, spread: 'uniform' }
const alone: Kind = { ...many, clients: 1 }
const withoutGroupCommit = { service: 'service without group commit' } as const

/** The verdicts on the rounds of the comparisons; each round is compared only within itself. */
export function judge(rounds: readonly (readonly Block[])[]): Verdict[] {
  const ratio = (of: Kind, to: Kind) =>
    rounds.flatMap((round) => {
      const [above, below] = [find(round, of), find(round, to)]
      return above && below ? [above.perSecond / below.perSecond] : []
    })
  const p99Ms = rounds.flatMap((round) => {
    const block = find(round, many)
    return block ? [new Histogram(block.latency).percentile(0.99) / 1000] : []
  })
  return [
    verdict(
      'echo',
      'verify / bare Fastify echo, 64 clients',
      ratio(many, { ...many, service: 'echo', flow: 'echo' }),
      {
        least: 0.45,
      },
    ),
    verdict(
      'group-commit',
      'verify / verify without group commit, 64 clients',
      ratio(many, { ...many, ...withoutGroupCommit }),
      { least: 3 },
    ),
    verdict('hot', 'one hot mandate / 1,000 mandates, 64 clients', ratio({ ...many, spread: 'hot' }, many), {
      least: 0.95,
    }),
    verdict(
      'one-client',
      'verify / verify without group commit, one client',
      ratio(alone, { ...alone, ...withoutGroupCommit }),
      { least: 0.95 },
    ),
    verdict('p99', 'p99 of verify, 64 clients', p99Ms, { most: 10 }, ' ms'),
  ]
}

function find(round: readonly Block[], kind: Kind): Block | undefined {
  return round.find(
    (block) =>
      block.service === kind.service &&
      block.flow === kind.flow &&
      block.clients === kind.clients &&
      block.spread === kind.spread,
  )
}

function verdict(
  id: string,
  name: string,
  values: readonly number[],
  bound: Verdict['bound'],
  unit: Verdict['unit'] = '',
): Verdict {
  const median = medianOf(values)
  // A median that is no number meets nothing.
  const isMet = 'least' in bound ? median >= bound.least : median <= bound.most
  return { id, name, values, median, bound, unit, isMet }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  return (lower + upper) / 2
}
