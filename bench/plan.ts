import type { Options } from './options.ts'
import type { Order } from './rig.ts'

/** A part of a run: its blocks in the order in which they run, on ledgers that begin with it. */
export interface Section {
  readonly name: string
  readonly isMeasured: boolean
  /** Rounds that are compared block by block; one round where nothing is compared. */
  readonly rounds: readonly (readonly Order[])[]
}

/** Everything that a run does, in order. */
export function makePlan(options: Options): Section[] {
  const comparisons = options.flows.includes('verify') ? [manyClients(options), oneClient(options)] : []
  return [warmUp(options), ...comparisons, survey(options)]
}

/** Before anything counts, every process compiles what it will run, in both places that it will take. */
function warmUp({ warmUpSeconds: seconds }: Options): Section {
  const kind = { clients: 64, spread: 'uniform' } as const
  const round: Order[] = [
    { ...kind, service: 'service', flow: 'lifecycle', seconds },
    { ...kind, service: 'service without group commit', flow: 'lifecycle', seconds },
    { ...kind, service: 'service', flow: 'evaluate', seconds: seconds / 2 },
    { ...kind, service: 'service', flow: 'verify-agent', seconds: seconds / 2 },
    { ...kind, service: 'service without group commit', flow: 'verify', seconds: seconds / 4 },
    { ...kind, service: 'service', flow: 'verify', seconds: seconds / 4 },
    { ...kind, service: 'echo', flow: 'echo', seconds },
  ]
  return { name: 'warming up', rounds: [round, round], isMeasured: false }
}

/** The service beside the echo, beside itself without group commit, and beside itself on one hot mandate. */
function manyClients({ rounds, blockSeconds: seconds }: Options): Section {
  const kind = { clients: 64, spread: 'uniform', seconds, flow: 'verify' } as const
  const round: Order[] = [
    { ...kind, service: 'service without group commit' },
    { ...kind, service: 'service', spread: 'hot' },
    { ...kind, service: 'service' },
    { ...kind, service: 'echo', flow: 'echo' },
  ]
  return { name: '64 clients', isMeasured: true, rounds: backAndForth(round, rounds) }
}

/** What waiting for company costs when there is none. */
function oneClient({ singleRounds, singleSeconds: seconds }: Options): Section {
  const kind = { clients: 1, spread: 'uniform', seconds, flow: 'verify' } as const
  const round: Order[] = [
    { ...kind, service: 'service' },
    { ...kind, service: 'service without group commit' },
  ]
  return { name: 'one client', isMeasured: true, rounds: backAndForth(round, singleRounds) }
}

/** Every flow once, for the table. */
function survey({ flows, blockSeconds: seconds }: Options): Section {
  const round = flows.flatMap((flow) =>
    ([16, 64] as const).flatMap((clients) =>
      (['uniform', 'hot'] as const)
        // The comparison has measured these already.
        .filter(() => flow !== 'verify' || clients !== 64)
        .map((spread): Order => ({ service: 'service', flow, clients, spread, seconds })),
    ),
  )
  return { name: 'every flow', isMeasured: true, rounds: [round] }
}

/**
 * Half of the rounds run backwards, so that no block always has the better place. The processes change
 * places every round and the direction every second one, so each place is taken in both directions.
 */
function backAndForth(round: readonly Order[], rounds: number): Order[][] {
  return Array.from({ length: rounds }, (_, index) =>
    Math.floor(index / 2) % 2 === 0 ? [...round] : round.toReversed(),
  )
}
