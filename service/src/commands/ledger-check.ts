import type { Database } from '../settings/config.ts'
import { formatSum } from '../domain/money.ts'
import { placeOfLedger } from '../start/open-store.ts'
import { sumUpPostgres, sumUpSqlite, type LedgerSums } from '../backup/sum-up.ts'
import { readDatabaseSetting } from './database-option.ts'
import { refuseOtherOwner } from './ledger-owner.ts'
import { exitCodes, type Io } from './io.ts'

/** Recomputes a ledger and reports inconsistencies; exits with 1 if there are any. */
export async function checkLedger(
  { database: flag, json }: { readonly database?: string; readonly json?: true },
  io: Io,
): Promise<void> {
  const database = readDatabaseSetting(flag, io)
  const sums = await sumUp(database)
  const place = placeOfLedger(database)
  io.print(json ? JSON.stringify(asJson(place, sums), null, 2) : inWords(place, sums))
  if (sums.faults.length > 0) io.exitWith(exitCodes.failed)
}

function sumUp(database: Database): Promise<LedgerSums> {
  if (database.kind === 'postgres') return sumUpPostgres(database.url)
  refuseOtherOwner(database.path)
  return sumUpSqlite(database.path)
}

/** How many errors are listed as text; --json lists all. */
const toldFaults = 50

function inWords(place: string, sums: LedgerSums): string {
  return [`Ledger    ${place}`, describeSums(sums)].join('\n')
}

/** The sums of a ledger as text: a line for each, and one that says whether all are consistent. */
export function describeSums({ mandates, payments, spentMicro, heldMicro, faults }: LedgerSums): string {
  const left = faults.length - toldFaults
  return [
    `Mandates  ${mandates.toLocaleString('en-US')}`,
    `Payments  ${payments.toLocaleString('en-US')}`,
    `Spent     ${formatSum(spentMicro)} USDC`,
    `Held      ${formatSum(heldMicro)} USDC`,
    ...faults.slice(0, toldFaults).map(({ subjectId, fault }) => `  ${subjectId}: ${fault}`),
    ...(left > 0 ? [`  and ${left} more; --json lists them all`] : []),
    faults.length === 0
      ? 'Every sum agrees with its records.'
      : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}: keep the files as they are, stop what pays, and see docs/guides/operators.md.`,
  ].join('\n')
}

function asJson(place: string, sums: LedgerSums) {
  return { ledger: place, ...sumsAsJson(sums) }
}

/** The sums of a ledger, for programs. */
export function sumsAsJson({ mandates, payments, spentMicro, heldMicro, faults }: LedgerSums) {
  return {
    mandates,
    payments,
    spent: formatSum(spentMicro),
    held: formatSum(heldMicro),
    agrees: faults.length === 0,
    faults: faults.map(({ accountId, subjectId, fault }) => ({
      account_id: accountId,
      subject_id: subjectId,
      fault,
    })),
  }
}
