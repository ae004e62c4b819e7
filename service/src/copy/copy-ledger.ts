import { isDeepStrictEqual } from 'node:util'

import { describeUrl } from '../store/ledger/postgres/address.ts'
import { keepSecret } from '../store/ledger/postgres/service-secrets.ts'
import type { LedgerFault } from '../store/store.ts'
import type { Table } from '../store/ledger/table.ts'
import { copiedTables, type Row, type TableTotals } from './copied-tables.ts'
import { withPostgresTarget, type PostgresTarget } from './postgres-target.ts'
import { openSqliteSource, type SqliteSource } from './sqlite-source.ts'

export interface CopyOptions {
  /** The SQLite file; no service may be using it. */
  readonly from: string
  /** The address of the PostgreSQL database. */
  readonly to: string
  /** The proof secret, if it is stored next to the file and not in the settings. */
  readonly proofSecret: string | undefined
  /** Called once the target is claimed, before anything is written. */
  readonly onBegin?: () => void
  /** Called after each batch; if it throws, the copy ends, and another run can continue it. */
  readonly onProgress?: (progress: CopyProgress) => void
  readonly batch?: BatchSize
}

/** The progress of a table. */
export interface CopyProgress {
  readonly table: string
  readonly copied: bigint
  readonly rows: bigint
}

/** The result of the comparison of both ledgers. */
export interface CopyReport {
  readonly isContinued: boolean
  /** Whether an earlier run had finished the copy, so that nothing was done. */
  readonly wasFinished: boolean
  /** The target's address, without the password. */
  readonly place: string
  readonly tables: readonly { readonly name: string; readonly rows: bigint; readonly agrees: boolean }[]
  readonly ledgerFaults: readonly LedgerFault[]
  /** Whether the target has the proof secret that is stored next to the file. */
  readonly hasProofSecret: boolean
  /** Whether everything agrees; only then may a service start on the copy. */
  readonly isProven: boolean
}

interface BatchSize {
  readonly rows: number
  readonly bytes: number
}

/** Large enough for few round trips, small enough to bound memory. */
const defaultBatch: BatchSize = { rows: 2_000, bytes: 1024 * 1024 }

/**
 * Copies a ledger from SQLite to PostgreSQL, and verifies that both have the same totals. Each table is copied in the order of
 * its key, so an interrupted copy continues after the last row. Throws a `StoreOpenError` if the source is in use, or the
 * target contains something else.
 */
export async function copyLedger(options: CopyOptions): Promise<CopyReport> {
  const source = openSqliteSource(options.from)
  try {
    const sourceTotals = source.totals()
    const anyAccountId = source.anyAccountId()
    const place = { url: options.to, sourcePath: options.from, sourceTotals, anyAccountId }
    const report = await withPostgresTarget(place, async (target) => {
      options.onBegin?.()
      for (const table of copiedTables) {
        const rows = sourceTotals.find((totals) => totals.table === table.name)?.rows ?? 0n
        await copyTable(source, target, table, rows, options)
      }
      const hasProofSecret = await copySecret(options)
      return { ...(await verify(target, sourceTotals)), hasProofSecret }
    })
    // A finished copy may lack the secret.
    return report ?? reportFinished(describeUrl(options.to), sourceTotals, await copySecret(options))
  } finally {
    source.close()
  }
}

/** Resolves to whether the target has the proof secret of the file. */
async function copySecret({ to, proofSecret }: CopyOptions): Promise<boolean> {
  return proofSecret !== undefined && (await keepSecret(to, 'proof', proofSecret)) === proofSecret
}

async function copyTable(
  source: SqliteSource,
  target: PostgresTarget,
  table: Table,
  rows: bigint,
  { onProgress, batch = defaultBatch }: CopyOptions,
): Promise<void> {
  let copied = await target.rowsOf(table)
  const report = () => onProgress?.({ table: table.name, copied, rows })
  const write = async (read: readonly Row[]) => {
    await target.insert(table, read)
    copied += BigInt(read.length)
    report()
  }
  report()
  // Reads the next batch while one is written.
  let writing = Promise.resolve()
  for (const read of batchesOf(source.rowsAfter(table, await target.lastKey(table)), batch)) {
    await writing
    writing = write(read)
  }
  await writing
}

function* batchesOf(rows: Iterable<Row>, max: BatchSize): Iterable<readonly Row[]> {
  let batch: Row[] = []
  let bytes = 0
  for (const row of rows) {
    batch.push(row)
    for (const value of Object.values(row)) bytes += sizeOf(value)
    if (batch.length < max.rows && bytes < max.bytes) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

/** The approximate size of a long value in memory. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0
}

/** Compares the totals of both. Releases the target only if the copy is complete and consistent. */
async function verify(
  target: PostgresTarget,
  sourceTotals: readonly TableTotals[],
): Promise<Omit<CopyReport, 'hasProofSecret'>> {
  const targetTotals = await target.totals()
  const tables = sourceTotals.map((totals, index) => ({
    name: totals.table,
    rows: totals.rows,
    agrees: isDeepStrictEqual(totals, targetTotals[index]),
  }))
  const ledgerFaults = await target.findLedgerFaults()
  const isProven = tables.every(({ agrees }) => agrees) && ledgerFaults.length === 0
  if (isProven) await target.release()
  const { place, isContinued } = target
  return { place, isContinued, wasFinished: false, tables, ledgerFaults, isProven }
}

/** The report on a copy that an earlier run had finished. */
function reportFinished(
  place: string,
  sourceTotals: readonly TableTotals[],
  hasProofSecret: boolean,
): CopyReport {
  const tables = sourceTotals.map(({ table, rows }) => ({ name: table, rows, agrees: true }))
  return {
    place,
    isContinued: false,
    wasFinished: true,
    tables,
    ledgerFaults: [],
    isProven: true,
    hasProofSecret,
  }
}
