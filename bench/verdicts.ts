import { Histogram } from './histogram.ts'
import type { StoreKind } from './ledgers.ts'
import type { Block, Order } from './rig.ts'
import { singleForms } from './single-transactions.ts'

/** A target for a run: the median over its rounds. */
export interface Verdict {
  readonly id: string
  readonly name: string
  /** One value per round. */
  readonly values: readonly number[]
  readonly median: number
  readonly bound: { readonly least: number } | { readonly most: number }
  readonly unit: '' | ' ms'
  readonly isMet: boolean
}

type Kind = Pick<Order, 'service' | 'flow' | 'clients' | 'spread'>

const many: Kind = { service: 'service', flow: 'verify', clients: 64, spread: 'uniform' }
const hot: Kind = { ...many, spread: 'hot' }
const echo: Kind = { ...many, service: 'echo', flow: 'echo' }
const alone: Kind = { ...many, clients: 1 }
const withoutGroupCommit = { service: 'service without group commit' } as const

/** The verdicts on the rounds of the comparisons; each round is compared only within itself. */
export function judge(rounds: readonly (readonly Block[])[], store: StoreKind): Verdict[] {
  return store === 'sqlite' ? judgeSqlite(rounds) : judgePostgres(rounds)
}

type Rounds = readonly (readonly Block[])[]

function judgeSqlite(rounds: Rounds): Verdict[] {
  const p99Ms = rounds.flatMap((round) => {
    const [block] = find(round, many)
    return block ? [new Histogram(block.latency).percentile(0.99) / 1000] : []
  })
  return [
    verdict('echo', 'verify / bare Fastify echo, 64 clients', ratios(rounds, many, [echo]), { least: 0.45 }),
    verdict(
      'group-commit',
      'verify / verify without group commit, 64 clients',
      ratios(rounds, many, [{ ...many, ...withoutGroupCommit }]),
      { least: 3 },
    ),
    verdict('hot', 'one hot mandate / 1,000 mandates, 64 clients', ratios(rounds, hot, [many]), {
      least: 0.95,
    }),
    oneClient(rounds),
    verdict('p99', 'p99 of verify, 64 clients', p99Ms, { most: 10 }, ' ms'),
  ]
}

function judgePostgres(rounds: Rounds): Verdict[] {
  const singles = singleForms.map((service): Kind => ({ ...many, service }))
  const hotSingles = singles.map((kind): Kind => ({ ...kind, spread: 'hot' }))
  return [
    verdict(
      'one-transaction-a-request',
      'verify / best single transactions, 64 clients',
      ratios(rounds, many, singles),
      { least: 2.5 },
    ),
    verdict(
      'one-transaction-a-request-hot',
      'the same on one hot mandate, 64 clients',
      ratios(rounds, hot, hotSingles),
      { least: 6 },
    ),
    verdict('hot', 'one hot mandate / 1,000 mandates, 64 clients', ratios(rounds, hot, [many]), {
      least: 0.9,
    }),
    verdict('echo', 'verify / bare Fastify echo, 64 clients', ratios(rounds, many, [echo]), { least: 0.3 }),
    oneClient(rounds),
  ]
}

function oneClient(rounds: Rounds): Verdict {
  return verdict(
    'one-client',
    'verify / verify without group commit, one client',
    ratios(rounds, alone, [{ ...alone, ...withoutGroupCommit }]),
    { least: 0.95 },
  )
}

/** The ratio to the rate of the best of several variants, in each round that has them all. */
function ratios(rounds: Rounds, of: Kind, others: readonly Kind[]): number[] {
  return rounds.flatMap((round) => {
    const ratio = rateOf(round, of) / Math.max(...others.map((kind) => rateOf(round, kind)))
    return Number.isNaN(ratio) ? [] : [ratio]
  })
}

/** Operations per second, as the mean if a round has several blocks of the kind; NaN if it has none. */
function rateOf(round: readonly Block[], kind: Kind): number {
  const blocks = find(round, kind)
  return blocks.reduce((sum, { perSecond }) => sum + perSecond, 0) / blocks.length
}

function find(round: readonly Block[], kind: Kind): Block[] {
  return round.filter(
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
  // A median of NaN meets no target.
  const isMet = 'least' in bound ? median >= bound.least : median <= bound.most
  return { id, name, values, median, bound, unit, isMet }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  return (lower + upper) / 2
}
