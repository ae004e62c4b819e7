import type { CopyProgress, CopyReport } from '../copy/copy-ledger.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { CommandError, type Io } from './io.ts'

/** How many rows are copied between two progress lines if output is not a terminal. */
const rowsPerLine = 50_000n

/** The longest name of a table: authorization_payers. */
const nameWidth = 20

/** Shows the progress of a copy: in one updated line on a terminal, otherwise in a few lines. */
export function showProgress({ isWatched, overwrite, printError }: Io) {
  let nextLineAt = rowsPerLine

  return {
    show({ table, copied, rows }: CopyProgress): void {
      const line = `  ${table.padEnd(nameWidth)} ${count(copied)} of ${count(rows)}`
      if (isWatched) return overwrite(line)
      if (copied === 0n || (copied < rows && copied < nextLineAt)) return
      printError(line)
      nextLineAt = copied < rows ? copied + rowsPerLine : rowsPerLine
    },
    end(): void {
      if (isWatched) overwrite('')
    },
  }
}

/** Explains an error of a copy by its flags. A copy that has begun continues with the next run. */
export function explainCopyFailure(
  error: unknown,
  { hasBegun, calledAs }: { readonly hasBegun: boolean; readonly calledAs: string },
): unknown {
  if (!(error instanceof StoreOpenError)) return error
  const { place = '', cause = '' } = error.values
  const isLost = hasBegun && error.code === 'no_server'
  const failure = isLost ? new StoreOpenError('server_lost', { place, cause }) : error
  return new CommandError(failure.tell({ purser: calledAs, server: '--to', file: '--from sqlite:' }))
}

/** The results of the verification. */
export function describeReport({ tables, ledgerFaults }: CopyReport): string {
  return [
    ...tables.map(
      ({ name, rows, agrees }) =>
        `  ${name.padEnd(nameWidth)} ${count(rows).padStart(12)} ${rows === 1n ? 'row ' : 'rows'}  ${agrees ? 'agrees' : 'DIFFERS'}`,
    ),
    ...ledgerFaults.slice(0, 10).map(({ subjectId, fault }) => `  ${subjectId}: ${fault}`),
    ledgerFaults.length === 0
      ? '  The ledger is sound: every sum agrees with its records.'
      : `  The ledger has ${ledgerFaults.length} errors.`,
  ].join('\n')
}

/** The next step after a complete copy. */
export function whatNext(
  { place, wasFinished, hasProofSecret }: CopyReport,
  from: { path: string; hasProofSecret: boolean },
): string {
  return [
    '',
    `${wasFinished ? '' : 'Copied. '}Start the service with PURSER_DATABASE=${inShell(place)} (and its password and options), and move`,
    `${from.path} away: a service started on it would spend the same budgets again.`,
    hasProofSecret
      ? 'The proof secret was copied too: open proofs can be verified there.'
      : from.hasProofSecret
        ? 'It has another proof secret than the file, so proofs that are open in the file cannot be verified there.'
        : 'There is no proof secret beside the file: set the same PURSER_PROOF_SECRET for the new service.',
  ].join('\n')
}

/** An address as a word of a shell: one with a socket has an `&`. */
function inShell(address: string): string {
  return /^[\w.:/@%-]+$/.test(address) ? address : `'${address.replaceAll("'", String.raw`'\''`)}'`
}

function count(value: bigint): string {
  return value.toLocaleString('en-US')
}
