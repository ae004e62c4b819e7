import { StoreUnavailableError } from '../store.ts'
import type { Ledger } from './ledger.ts'
import { closeStrayMinute, maxDenialsPerMinute } from './operations/denials.ts'
import { releaseExpiredPayments } from './operations/mandates.ts'
import { isDue } from './operations/stops.ts'
import { findRows, from, id, idFrom } from './reads/rows.ts'
import { workOn } from './several-transactions.ts'
import {
  accounts,
  agents,
  authorizations,
  mandates,
  runningStops,
  strayDenials,
  type RunningStop,
  type StrayDenialRow,
} from './tables.ts'
import { sql, type Reader } from '../sql.ts'

/** How many mandates one sweep searches for open payments. */
const maxLookedAt = 20_000

/**
 * How many extra passes a sweep has for mandates that expire more payments than one pass releases: it must not fall
 * behind on a busy one.
 */
const maxFurtherLooks = 50

/**
 * How long a sweep waits for one mandate. One that is locked for longer is left to the next sweep, so that the others
 * need not wait.
 */
const patienceMs = 2_000

/** How many stops are continued at once. */
const maxStops = 100

/** How many counts of denials without a mandate one sweep reads. */
const maxStrays = 1_000

/** Max mandates that are swept at once, and max payments that one of them may release then. */
const mandatesAtOnce = 16
const manyReleased = 50

interface Candidate {
  readonly accountId: string
  readonly mandateId: string
  /** How far the test clock of its sandbox is ahead. */
  readonly clockOffsetMs: number
}

interface SweepCall {
  readonly nowMs: number
  readonly maxMandates: number
  readonly nextCountId: () => string
}

/**
 * Releases expired amounts, for a bounded number of mandates at a time, and counts the unrecorded denials of past minutes.
 * Accounts take turns, and so do the mandates of each, so that nobody waits for an account with many.
 */
export class Sweep {
  readonly #ledger: Pick<Ledger, 'run'>
  readonly #db: Reader
  /** How many mandates are swept at once: one while much has expired, since payments wait for the batch. */
  #atOnce = 1
  /** The last mandate that was checked; undefined at the start of a round. */
  #lookedAtUpTo: Omit<Candidate, 'clockOffsetMs'> | undefined
  /** The last count of denials without a mandate that was read; undefined at the start of a round. */
  #lastStray: StrayDenialRow | undefined
  /** The last account, and the last mandate of each account, that had its turn. */
  #lastAccountId = ''
  #lastMandateIds = new Map<string, string>()

  constructor(options: { readonly ledger: Pick<Ledger, 'run'>; readonly db: Reader }) {
    this.#ledger = options.ledger
    this.#db = options.db
  }

  /** How many payments were released. */
  async releaseSome({ nowMs, maxMandates, nextCountId }: SweepCall): Promise<number> {
    const chosen = this.#choose(await this.#lookAtSome(nowMs), maxMandates)
    let furtherLooks = maxFurtherLooks
    let sum = 0
    const sweepOne = async (mandate: Candidate) => {
      const { accountId, mandateId, clockOffsetMs } = mandate
      for (;;) {
        const call = { accountId, mandateId, nowMs: nowMs + clockOffsetMs, countId: nextCountId() }
        const outcome = await this.#ledger.run(releaseExpiredPayments, call, { patienceMs })
        sum += outcome.released
        this.#atOnce = outcome.released > manyReleased ? 1 : Math.min(this.#atOnce + 1, mandatesAtOnce)
        if (!outcome.isMoreLeft || furtherLooks-- <= 0) return
      }
    }
    const strays = await this.#findStrays()
    const closeOne = async ({ accountId, environment }: StrayDenialRow) => {
      const call = { accountId, environment, nowMs, countId: nextCountId() }
      await this.#ledger.run(closeStrayMinute, call, { patienceMs })
    }
    const failures = [
      ...(await workOn([chosen], () => this.#atOnce, sweepOne)),
      ...(await workOn([strays], () => mandatesAtOnce, closeOne)),
    ]
    const bug = failures.find((error) => !(error instanceof StoreUnavailableError))
    if (bug !== undefined) throw bug
    // If none of several could be swept, their locks are not the cause.
    if (failures.length > 1 && failures.length === chosen.length + strays.length) throw failures[0]
    return sum
  }

  /** The next accounts with denials that belong to no mandate and are only counted. */
  async #findStrays(): Promise<readonly StrayDenialRow[]> {
    const last = this.#lastStray
    const isAfter = last
      ? sql`(account_id, environment) > (${id('account', last.accountId)}, ${last.environment})`
      : sql`1 = 1`
    const page = sql`${isAfter} order by account_id, environment limit ${sql.lit(maxStrays)}`
    const rows = await findRows(this.#db, strayDenials, page)
    this.#lastStray = rows[maxStrays - 1]
    return rows.filter(({ denials }) => denials > maxDenialsPerMinute)
  }

  /** Stops that need to be continued, longest overdue first; a bounded number of them. */
  async dueStops(nowMs: number): Promise<readonly RunningStop[]> {
    const rows = await findRows(
      this.#db,
      runningStops,
      sql`1 = 1 order by try_at_ms limit ${sql.lit(maxStops)}`,
    )
    return rows.filter((row) => isDue(row, nowMs))
  }

  /**
   * The next mandates that may have expired payments, or have overdue authorizations, open payments of a
   * revoked agent, or denials that are only counted.
   */
  async #lookAtSome(nowMs: number): Promise<readonly Candidate[]> {
    const after = this.#lookedAtUpTo
    const isAfter = after
      ? sql`where (account_id, id) > (${id('account', after.accountId)}, ${id('mandate', after.mandateId)})`
      : sql``
    const source = sql`from ${from(mandates)} m ${isAfter} order by account_id, id`
    // Few mandates have open payments or counted denials, and fewer have a test clock.
    const offset = sql`
      case when (open_payments + authorized_payments > 0 or denials > 0) and m.environment = 'sandbox' then coalesce((
        select a.clock_offset_ms from ${from(accounts)} a where a.id = m.account_id), 0) else 0 end`
    const atMs = sql`${sql.lit(nowMs)} + ${offset}`
    // A database that distributes accounts over machines joins them only before the limit.
    const isRevoked = sql`
      open_payments > 0 and exists (
        select 1 from ${from(agents)} a
        where a.account_id = m.account_id and a.id = m.agent_id and a.status = 'revoked')`
    const isOverdue = sql`
      authorized_payments > 0 and exists (
        select 1 from ${from(authorizations)} d
        where d.account_id = m.account_id and d.mandate_id = m.id and d.deadline_ms <= ${atMs})`
    const { rows } = await sql<CandidateRow>`
      select account_id, id, clock_offset_ms from (
        select account_id, id, ${offset} as clock_offset_ms, open_payments, released_until_ms, denials, ${isRevoked} as is_revoked,
          ${isOverdue} as is_overdue ${source}
        limit ${sql.lit(maxLookedAt)}) looked_at
      where denials > 0 or open_payments > 0 and (released_until_ms < ${sql.lit(nowMs)} + clock_offset_ms or is_revoked) or is_overdue
      order by account_id, id`.execute(this.#db)
    const { rows: end } = await sql<{ account_id: unknown; id: unknown }>`
      select account_id, id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(this.#db)
    this.#lookedAtUpTo = end[0] && keyOf(end[0])
    return rows.map((row) => ({ ...keyOf(row), clockOffsetMs: Number(row.clock_offset_ms) }))
  }

  #choose(candidates: readonly Candidate[], maxMandates: number): readonly Candidate[] {
    const ofAccounts = [...Map.groupBy(candidates, ({ accountId }) => accountId)]
    const inTurn = startAfter(ofAccounts, ([accountId]) => accountId > this.#lastAccountId).map(
      ([accountId, own]) => {
        const last = this.#lastMandateIds.get(accountId) ?? ''
        return startAfter(own, ({ mandateId }) => mandateId > last)
      },
    )
    this.#lastMandateIds = new Map()
    const chosen: Candidate[] = []
    for (let turn = 0; chosen.length < Math.min(maxMandates, candidates.length); turn++) {
      for (const own of inTurn) {
        const candidate = own[turn]
        if (!candidate || chosen.length === maxMandates) continue
        chosen.push(candidate)
        this.#lastAccountId = candidate.accountId
        this.#lastMandateIds.set(candidate.accountId, candidate.mandateId)
      }
    }
    return chosen
  }
}

/** The items from the first later one on, then the others. */
function startAfter<Item>(items: readonly Item[], isLater: (item: Item) => boolean): readonly Item[] {
  const first = items.findIndex(isLater)
  return first < 0 ? items : [...items.slice(first), ...items.slice(0, first)]
}

interface CandidateRow {
  readonly account_id: unknown
  readonly id: unknown
  readonly clock_offset_ms: unknown
}

function keyOf(row: Pick<CandidateRow, 'account_id' | 'id'>): Omit<Candidate, 'clockOffsetMs'> {
  return { accountId: idFrom('account', row.account_id), mandateId: idFrom('mandate', row.id) }
}
