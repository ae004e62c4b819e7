import { statSync } from 'node:fs'

import type { Database } from '../config.ts'
import { formatSum } from '../domain/money.ts'
import { placeOfLedger } from '../open-store.ts'
import { sumUpPostgres, sumUpSqlite, type LedgerSums } from '../store/sum-up.ts'
import { readDatabaseSetting } from './database-option.ts'
import { CommandError, exitCodes, type Surroundings } from './surroundings.ts'

/** Adds a ledger up anew and tells what does not agree; exits with 1 when something does not. */
export async function checkLedger(
  { database: flag, json }: { readonly database?: string; readonly json?: true },
  surroundings: Surroundings,
): Promise<void> {
  const database = readDatabaseSetting(flag, surroundings)
  const sums = await sumUp(database)
  const place = placeOfLedger(database)
  surroundings.print(json ? JSON.stringify(asJson(place, sums), null, 2) : inWords(place, sums))
  if (sums.faults.length > 0) surroundings.exitWith(exitCodes.failed)
}

function sumUp(database: Database): Promise<LedgerSums> {
  if (database.kind === 'postgres') return sumUpPostgres(database.url)
  refuseOtherOwner(database.path)
  return sumUpSqlite(database.path)
}

/** SQLite makes files beside the database even to read it; of another user, they would keep the service out. */
function refuseOtherOwner(path: string): void {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  if (owner === undefined || user === undefined || owner === user) return
  throw new CommandError(
    `${path} belongs to user ${owner}, and what user ${user} makes beside it would keep the service out; run this as that user, with sudo -u`,
  )
}

/** How many faults are told in words; --json has them all. */
const toldFaults = 50

function inWords(place: string, { mandates, payments, spentMicro, heldMicro, faults }: LedgerSums): string {
  const left = faults.length - toldFaults
  return [
    `Ledger    ${place}`,
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

function asJson(place: string, { mandates, payments, spentMicro, heldMicro, faults }: LedgerSums) {
  return {
    ledger: place,
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
