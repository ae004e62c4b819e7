import { idsFrom } from '../../../domain/id-time.ts'
import { windowStartsAtMs, type Limit } from '../../../domain/limits.ts'
import type { MicroUsdc } from '../../../domain/money.ts'
import type { BacktestQuestion, BacktestReport } from '../../console/backtest.ts'
import type { RecordKey } from '../../store.ts'
import { runBacktest } from '../backtest/backtest.ts'
import { eventsOf, type EndingEvent, type HistoryRows, type RefundEntry } from '../backtest/history.ts'
import {
  agents,
  auditEvents,
  evaluations,
  mandates,
  payments,
  type EvaluationRow,
  type MandateRow,
  type PaymentRow,
} from '../tables.ts'
import { clockSlackMs } from './transactions.ts'

import { boundOf, columnsOf, findRows, idFrom, idOf, rowOf, tableOf, type ReadDialect } from './dialect.ts'
import { sql, type Reader } from '../../sql.ts'

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
export function prepareHistory(db: Reader, dialect: ReadDialect) {
  const from = (table: Parameters<typeof tableOf>[1]) => tableOf(dialect, table)

  async function backtest(key: RecordKey, question: BacktestQuestion): Promise<BacktestReport | undefined> {
    const { fromMs, toMs, draft, now } = question
    const [mandate] = await findRows(
      db,
      mandates,
      sql`select ${columnsOf(mandates)} from ${from(mandates)}
        where account_id = ${idOf(dialect, 'account', key.accountId)} and id = ${idOf(dialect, 'mandate', key.id)}
          and environment = ${key.environment}`,
    )
    if (!mandate) return undefined
    const [agent] = await findRows(
      db,
      agents,
      sql`select ${columnsOf(agents)} from ${from(agents)}
        where account_id = ${idOf(dialect, 'account', key.accountId)} and id = ${idOf(dialect, 'agent', mandate.agentId)}`,
    )
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
    return runBacktest({
      mandate,
      agent,
      draft,
      events,
      fromMs,
      toMs,
      isCutOff: endMs < toMs,
      onlyCounted: decided.moreDenied.reduce(
        (sum, { atMs, count }) => (atMs >= fromMs && atMs < endMs ? sum + count : sum),
        0,
      ),
      now,
    })
  }

  /** The payments of a mandate whose proofs were issued in a range, and up to when all of them were found. */
  async function findPayments(
    { accountId, id, clockOffsetMs }: SearchedMandate,
    startMs: number,
    toMs: number,
  ): Promise<{ readonly payments: PaymentRow[]; readonly endMs: number }> {
    const found: PaymentRow[] = []
    const account = idOf(dialect, 'account', accountId)
    const end = sql`${dialect.idParameter(nonceBound(toMs + clockSlackMs))}`
    let after = sql`nonce >= ${dialect.idParameter(nonceBound(startMs - clockOffsetMs - clockSlackMs))}`
    for (let lookedAt = 0; ; lookedAt += rowsAtOnce) {
      const looked = sql`select * from ${from(payments)}
        where account_id = ${account} and ${after} and nonce < ${end} order by nonce limit ${sql.lit(rowsAtOnce)}`
      const { rows: last } = await sql<{ nonce: unknown; issued_at_ms: unknown }>`
        select nonce, issued_at_ms from (${looked}) p order by nonce desc limit 1`.execute(db)
      const page = await findRows(
        db,
        payments,
        sql`select ${columnsOf(payments)} from (${looked}) p
          where mandate_id = ${idOf(dialect, 'mandate', id)} order by nonce`,
      )
      found.push(...page.filter(({ issuedAtMs }) => issuedAtMs >= startMs && issuedAtMs < toMs))
      const [lookedAtLast] = last
      if (!lookedAtLast) return { payments: found, endMs: Infinity }
      if (found.length >= maxRecords || lookedAt >= maxLookedAt) {
        return { payments: found, endMs: Number(lookedAtLast.issued_at_ms) - clockSlackMs }
      }
      after = sql`nonce > ${idOf(dialect, 'nonce', idFrom('nonce', lookedAtLast.nonce))}`
    }
  }

  /** The evaluations and denied proofs of a mandate in a range, and its refunds. */
  async function findDecisions(
    { accountId, id, clockOffsetMs }: SearchedMandate,
    startMs: number,
    toMs: number,
  ) {
    const account = idOf(dialect, 'account', accountId)
    const journal = await dialect.entriesOfMandates([id])
    const found: EvaluationRow[] = []
    const refunds: RefundEntry[] = []
    const moreDenied: { readonly atMs: number; readonly count: number }[] = []
    const lastId = idsFrom('txn', toMs === Infinity ? farMs : toMs + clockSlackMs)
    let after = sql`id >= ${boundOf(dialect, 'transaction', idsFrom('txn', startMs - clockOffsetMs - clockSlackMs))}`
    for (;;) {
      const { rows } = await sql<JournalRow>`
        select e.id as entry_id, e.kind as entry_kind, e.count as entry_count, e.at_ms as entry_at_ms,
          e.nonce as entry_nonce, e.amount_micro as entry_amount_micro, ${columnsOf(evaluations, 'v')}
        from (select * from ${journal} where account_id = ${account} and mandate_id = ${idOf(dialect, 'mandate', id)}
            and ${after} and id < ${boundOf(dialect, 'transaction', lastId)}
          order by id limit ${sql.lit(rowsAtOnce)}) e
        left join ${from(evaluations)} v on v.account_id = ${account} and v.id = e.id
        order by e.id`.execute(db)
      for (const row of rows) {
        const atMs = Number(row.entry_at_ms)
        if (row.entry_kind === 'refunded') {
          const amountMicro = BigInt(row.entry_amount_micro as string) as MicroUsdc
          const nonce = idFrom('nonce', row.entry_nonce)
          refunds.push({ id: idFrom('transaction', row.entry_id), nonce, amountMicro, atMs })
        } else if (row.entry_kind === 'more_denied') moreDenied.push({ atMs, count: Number(row.entry_count) })
        else if (row['id'] !== null) found.push(rowOf(evaluations, row))
      }
      const last = rows.at(-1)
      const isOver = rows.length < rowsAtOnce || !last
      if (isOver || found.length >= maxRecords) {
        const inTime = found.filter(({ createdAtMs }) => createdAtMs >= startMs && createdAtMs < toMs)
        const endMs = isOver ? Infinity : Number(last?.entry_at_ms) - trailingMs
        return { evaluations: inTime, refunds, moreDenied, endMs }
      }
      after = sql`id > ${idOf(dialect, 'transaction', idFrom('transaction', last.entry_id))}`
    }
  }

  /** The events that ended all open payments of a mandate. */
  async function findStops(
    { accountId, id, clockOffsetMs }: SearchedMandate,
    startMs: number,
  ): Promise<EndingEvent[]> {
    const start = boundOf(dialect, 'auditEvent', idsFrom('event', startMs - clockOffsetMs - clockSlackMs))
    return findRows(
      db,
      auditEvents,
      sql`select ${columnsOf(auditEvents)} from ${from(auditEvents)}
        where account_id = ${idOf(dialect, 'account', accountId)} and subject_id = ${id} and id >= ${start}
          and type in ('mandate.paused', 'mandate.revoked', 'mandate.amended', 'proofs.voided')
        order by id limit ${sql.lit(maxRecords)}`,
    )
  }

  /** The events that voided single payments. */
  async function findVoids({ accountId }: MandateRow, found: readonly PaymentRow[]): Promise<EndingEvent[]> {
    const nonces = found.flatMap(({ status, nonce }) => (status === 'voided' ? [nonce] : []))
    const events: EndingEvent[] = []
    for (let done = 0; done < nonces.length; done += noncesAtOnce) {
      const some = nonces.slice(done, done + noncesAtOnce)
      const page = await findRows(
        db,
        auditEvents,
        sql`select ${columnsOf(auditEvents)} from ${from(auditEvents)}
          where account_id = ${idOf(dialect, 'account', accountId)} and subject_id in (${sql.join(some)})
            and type in ('proof.voided', 'authorization.voided')`,
      )
      events.push(...page)
    }
    return events
  }

  return { backtest }
}

type JournalRow = Readonly<Record<string, unknown>> & {
  readonly entry_id: unknown
  readonly entry_kind: string
  readonly entry_count: unknown
  readonly entry_at_ms: unknown
  readonly entry_nonce: unknown
  readonly entry_amount_micro: unknown
}

/** Later than any record. */
const farMs = Date.UTC(9999, 0)

/**
 * The time from which a mandate's history matters to decisions from a later time on: its windows, and what
 * was open then.
 */
function startOf(limits: readonly Limit[], fromMs: number, createdAtMs: number): number {
  const starts = limits.map(({ window }) => windowStartsAtMs(window, fromMs) ?? createdAtMs)
  return Math.max(createdAtMs, Math.min(fromMs, ...starts) - warmUpMs)
}

/** The smallest nonce of a time: nonces are UUIDs of version 7. */
function nonceBound(ms: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(0, Math.min(ms, farMs)), 0, 6)
  return bytes
}
