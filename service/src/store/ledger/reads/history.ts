import { windowStartsAtMs, type Limit } from '../../../domain/limits.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import type { BacktestQuestion, BacktestReport } from '../../console/backtest.ts'
import type { RecordKey } from '../../store.ts'
import { runBacktest } from '../backtest/backtest.ts'
import { eventsOf, type HistoryRows } from '../backtest/history.ts'
import {
  agents,
  auditEvents,
  entries,
  evaluations,
  mandates,
  payments,
  type EntryRow,
  type EvaluationRow,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import type { LedgerReader } from './ledger-reader.ts'
import {
  clockSlackMs,
  columnsOf,
  findRecord,
  findRows,
  firstIdAt,
  from,
  id,
  idFrom,
  ofAccount,
  rowOf,
  rowsOf,
  type RawRow,
} from './rows.ts'
import { sql } from '../../sql.ts'

/** How many records a back-test replays, and how many of the account's payments it may look at for them. */
const maxRecords = 50_000
const maxLookedAt = 500_000

/** How many rows one statement looks at. */
const rowsAtOnce = 2_000

/** How many nonces one statement asks for; SQLite takes 500 terms. */
const noncesAtOnce = 200

/** Before the first judged record: what is open then was issued, or authorized, no earlier. */
const warmUpMs = 25 * 60 * 60_000

/**
 * How long after a record that is still read other records of the same payment may follow, such as the charge
 * of a proof.
 */
const trailingMs = 10 * 60_000

/** A mandate with its test clock: ids are in the time of the machine, which the records may be ahead of. */
type SearchedMandate = MandateRow & { readonly clockOffsetMs: number }

/** The history of a mandate, for back-tests. Every statement reads a bounded number of rows. */
export function prepareHistory(db: LedgerReader) {
  async function backtest(key: RecordKey, question: BacktestQuestion): Promise<BacktestReport | undefined> {
    const { fromMs, toMs, draft } = question
    const mandate = await findRecord(db, mandates, key)
    if (!mandate) return undefined
    const agent = await findRecord(db, agents, { ...key, id: mandate.agentId })
    if (!agent) return undefined
    const limits = [...(mandate.limits ?? []), ...(draft.limits ?? [])]
    const asksForNew = [mandate, draft].some(({ approval }) => approval?.firstPurchaseAtSeller)
    const startMs = asksForNew ? mandate.createdAtMs : startOf(limits, fromMs, mandate.createdAtMs)
    const searched = { ...mandate, clockOffsetMs: key.clockOffsetMs ?? 0 }
    // Those from shortly before may be charged later.
    const found = await findPayments(searched, startMs - warmUpMs, toMs)
    const decided = await findDecisions(searched, startMs, Math.min(toMs, found.endMs))
    const endMs = Math.min(found.endMs, decided.endMs)
    const rows: HistoryRows = {
      payments: found.payments,
      evaluations: decided.evaluations,
      refunds: decided.refunds,
      endings: [...(await findStops(searched, startMs)), ...(await findVoids(mandate, found.payments))],
    }
    const events = eventsOf(rows).filter(({ atMs }) => atMs >= startMs && atMs < endMs)
    const counted = decided.moreDenied.filter(({ atMs }) => atMs >= fromMs && atMs < endMs)
    const onlyCounted = counted.reduce((sum, { count }) => sum + count, 0)
    return runBacktest({ ...question, mandate, agent, events, isCutOff: endMs < toMs, onlyCounted })
  }

  /** The payments of a mandate whose proofs were issued in a range, and up to when all of them were found. */
  async function findPayments(
    { accountId, id: mandateId, clockOffsetMs }: SearchedMandate,
    startMs: number,
    toMs: number,
  ): Promise<{ readonly payments: PaymentRow[]; readonly endMs: number }> {
    const found: PaymentRow[] = []
    let after = sql`nonce >= ${firstIdAt(startMs - clockOffsetMs - clockSlackMs)}`
    for (let lookedAt = 0; ; lookedAt += rowsAtOnce) {
      const isNext = sql`${ofAccount(accountId)} and ${after}`
      const { rows } = await sql<{ nonce: unknown; issued_at_ms: unknown }>`
        select nonce, issued_at_ms from (
          select nonce, issued_at_ms from ${from(payments)}
          where ${isNext} and nonce < ${firstIdAt(toMs + clockSlackMs)}
          order by nonce limit ${sql.lit(rowsAtOnce)}) p order by nonce desc limit 1`.execute(db)
      const [lookedAtLast] = rows
      if (!lookedAtLast) return { payments: found, endMs: Infinity }
      // Up to that one, not a number of them: others may have been committed before it in the meantime.
      const isLookedAt = sql`nonce <= ${id('nonce', idFrom('nonce', lookedAtLast.nonce))}`
      const page = await rowsOf(
        db,
        payments,
        sql`select ${columnsOf(payments)} from (
            select * from ${from(payments)} where ${isNext} and ${isLookedAt}
            order by nonce limit ${sql.lit(2 * rowsAtOnce)}) p
          where mandate_id = ${id('mandate', mandateId)} order by nonce`,
      )
      found.push(...page.filter(({ issuedAtMs }) => issuedAtMs >= startMs && issuedAtMs < toMs))
      if (found.length >= maxRecords || lookedAt >= maxLookedAt) {
        return { payments: found, endMs: Number(lookedAtLast.issued_at_ms) - clockSlackMs }
      }
      after = sql`nonce > ${id('nonce', idFrom('nonce', lookedAtLast.nonce))}`
    }
  }

  /** The evaluations and denied proofs of a mandate in a range, and its refunds. */
  async function findDecisions(
    { accountId, id: mandateId, clockOffsetMs }: SearchedMandate,
    startMs: number,
    toMs: number,
  ) {
    const journal = await db.entriesOfMandates([mandateId])
    const found: EvaluationRow[] = []
    const refunds: EntryRow[] = []
    const moreDenied: EntryRow[] = []
    let after = sql`id >= ${firstIdAt(startMs - clockOffsetMs - clockSlackMs)}`
    for (;;) {
      const { rows } = await sql<RawRow>`
        select ${columnsOf(entries, 'e', 'e_')}, ${columnsOf(evaluations, 'v', 'v_')}
        from (select * from ${journal} where ${ofAccount(accountId)} and mandate_id = ${id('mandate', mandateId)}
            and ${after} and id < ${firstIdAt(toMs + clockSlackMs)}
          order by id limit ${sql.lit(rowsAtOnce)}) e
        left join ${from(evaluations)} v on v.account_id = ${id('account', accountId)} and v.id = e.id
        order by e.id`.execute(db)
      const read = rows.map((raw) => rowOf(entries, raw, 'e_'))
      for (const [place, entry] of read.entries()) {
        const raw = rows[place]!
        if (entry.kind === 'refunded') refunds.push(entry)
        else if (entry.kind === 'more_denied') moreDenied.push(entry)
        else if (raw['v_id'] !== null) found.push(rowOf(evaluations, raw, 'v_'))
      }
      const last = read.at(-1)
      const isOver = read.length < rowsAtOnce || !last
      if (isOver || found.length >= maxRecords) {
        const inTime = found.filter(({ createdAtMs }) => createdAtMs >= startMs && createdAtMs < toMs)
        const endMs = isOver ? Infinity : last.atMs - trailingMs
        return { evaluations: inTime, refunds, moreDenied, endMs }
      }
      after = sql`id > ${id('transaction', last.id)}`
    }
  }

  /** The events that ended all open payments of a mandate. */
  function findStops(
    { accountId, id: mandateId, clockOffsetMs }: SearchedMandate,
    startMs: number,
  ): Promise<AuditEvent[]> {
    const start = firstIdAt(startMs - clockOffsetMs - clockSlackMs)
    return findRows(
      db,
      auditEvents,
      sql`${ofAccount(accountId)} and subject_id = ${mandateId} and id >= ${start}
        and type in ('mandate.paused', 'mandate.revoked', 'mandate.amended', 'proofs.voided')
        order by id limit ${sql.lit(maxRecords)}`,
    )
  }

  /** The events that voided single payments. */
  async function findVoids({ accountId }: MandateRow, found: readonly PaymentRow[]): Promise<AuditEvent[]> {
    const nonces = found.flatMap(({ status, nonce }) => (status === 'voided' ? [nonce] : []))
    const events: AuditEvent[] = []
    for (let done = 0; done < nonces.length; done += noncesAtOnce) {
      const some = sql.join(nonces.slice(done, done + noncesAtOnce))
      const isVoided = sql`subject_id in (${some}) and type in ('proof.voided', 'authorization.voided')`
      events.push(...(await findRows(db, auditEvents, sql`${ofAccount(accountId)} and ${isVoided}`)))
    }
    return events
  }

  return { backtest }
}

/**
 * The time from which a mandate's history matters to decisions from a later time on: its windows, and what
 * was open then.
 */
function startOf(limits: readonly Limit[], fromMs: number, createdAtMs: number): number {
  const starts = limits.map(({ window }) => windowStartsAtMs(window, fromMs) ?? createdAtMs)
  return Math.max(createdAtMs, Math.min(fromMs, ...starts) - warmUpMs)
}
