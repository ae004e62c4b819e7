import { services } from './ledgers.ts'
import type { Options } from './options.ts'
import type { Order } from './rig.ts'
import { singleConnections, singleForms } from './single-transactions.ts'

/** A part of a run: its blocks in order, on ledgers that are new for it. */
export interface Section {
  readonly name: string
  readonly isMeasured: boolean
  /** Rounds that are compared block by block; one round if nothing is compared. */
  readonly rounds: readonly (readonly Order[])[]
}

/** All steps of a run, in order. */
export function makePlan(options: Options): Section[] {
  const isPostgres = options.store === 'postgres'
  const first = isPostgres ? warmUpPostgres(options) : warmUp(options)
  if (!options.flows.includes('verify')) return [first, survey(options)]
  const many = isPostgres ? manyClientsOnPostgres(options) : manyClients(options)
  const comparisons = [many, isPostgres ? oneClientOnPostgres(options) : oneClient(options)]
  return [first, ...comparisons.map(rehearsed), survey(options)]
}

/**
 * A new database needs new connections, which have no plans yet; a new file needs a ledger thread, which has
 * compiled nothing yet. So each round begins with a rehearsal.
 */
function rehearsed(section: Section): Section {
  const rounds = section.rounds.map((round) => {
    const [...firsts] = Map.groupBy(
      round.filter(({ service }) => service !== 'echo'),
      ({ service }) => service,
    ).values()
    const rehearsals = firsts.flatMap(([order]) =>
      order ? [{ ...order, seconds: rehearsalSeconds, isRehearsal: true }] : [],
    )
    return [...rehearsals, ...round]
  })
  return { ...section, rounds }
}

const rehearsalSeconds = 0.5

/** Before anything is measured, every process compiles what it will run, in both positions. */
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

/** The same for the four services, in all four positions. */
function warmUpPostgres({ warmUpSeconds: seconds }: Options): Section {
  const kind = { clients: 64, spread: 'uniform' } as const
  const round: Order[] = [
    ...services.map((service) => ({ ...kind, service, flow: 'lifecycle' as const, seconds: seconds / 2 })),
    { ...kind, service: 'service', flow: 'evaluate', seconds: seconds / 4 },
    { ...kind, service: 'service', flow: 'verify-agent', seconds: seconds / 4 },
    ...services.map((service) => ({ ...kind, service, flow: 'verify' as const, seconds: seconds / 4 })),
    { ...kind, ...rawSql, seconds: seconds / 2 },
    { ...kind, service: 'echo', flow: 'echo', seconds: seconds / 2 },
  ]
  return { name: 'warming up', rounds: services.map(() => round), isMeasured: false }
}

/** As many connections as the services with one transaction per request have. */
const rawSql = { service: 'raw SQL', flow: 'verify', clients: singleConnections } as const

/**
 * The service compared with the echo, and with those that write one transaction per request, with many
 * mandates and one hot mandate.
 */
function manyClientsOnPostgres({ rounds, blockSeconds: seconds }: Options): Section {
  const kind = { clients: 64, spread: 'uniform', seconds, flow: 'verify' } as const
  const singles = singleForms.flatMap((service): Order[] => [
    { ...kind, service },
    { ...kind, service, spread: 'hot' },
  ])
  const round: Order[] = [
    ...singles,
    { ...kind, service: 'service', spread: 'hot' },
    { ...kind, service: 'service' },
    { ...kind, service: 'echo', flow: 'echo' },
    { ...kind, service: 'service without group commit' },
    { ...kind, ...rawSql },
    { ...kind, ...rawSql, spread: 'hot' },
  ]
  return { name: '64 clients', isMeasured: true, rounds: backAndForth(round, rounds) }
}

/**
 * The service compared with the echo, with itself without group commit, and with itself on one hot mandate.
 */
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

/** The cost of group commit when there is only one client. */
function oneClient({ singleRounds, singleSeconds: seconds }: Options): Section {
  return { name: 'one client', isMeasured: true, rounds: backAndForth(lonely(seconds), singleRounds) }
}

/**
 * Creating databases takes longer than a block, so there are half as many rounds with three times the blocks,
 * in turn.
 */
function oneClientOnPostgres({ singleRounds, singleSeconds: seconds }: Options): Section {
  const once = lonely(seconds)
  const round = [...once, ...once.toReversed(), ...once]
  return { name: 'one client', isMeasured: true, rounds: backAndForth(round, Math.ceil(singleRounds / 2)) }
}

function lonely(seconds: number): Order[] {
  const kind = { clients: 1, spread: 'uniform', seconds, flow: 'verify' } as const
  return [
    { ...kind, service: 'service' },
    { ...kind, service: 'service without group commit' },
  ]
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
 * Half of the rounds run in reverse order, so that no block always has the better position. The processes
 * swap positions every round and the direction changes every second one, so each position is taken in both
 * directions.
 */
function backAndForth(round: readonly Order[], rounds: number): Order[][] {
  return Array.from({ length: rounds }, (_, index) =>
    Math.floor(index / 2) % 2 === 0 ? [...round] : round.toReversed(),
  )
}
