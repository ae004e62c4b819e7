import type { CopyProgress, CopyReport } from '../store/copy/copy-ledger.ts'
import { StoreOpenError } from '../store/store.ts'
import type { Surroundings } from './surroundings.ts'

/** How many rows of a table are copied from one line of progress to the next, where lines are kept. */
const rowsPerLine = 50_000n

/** Shows how far a copy is: in one line that changes where somebody watches, in a few lines elsewhere. */
export function showProgress({ isWatched, overwrite, printError }: Surroundings) {
  let nextLineAt = rowsPerLine

  return {
    show({ table, copied, rows }: CopyProgress): void {
      const line = `  ${table.padEnd(16)} ${count(copied)} of ${count(rows)}`
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

/**
 * An error while a ledger is copied, with the flags named that would help. Once the copy had begun, another run
 * goes on with it.
 */
export function explainCopyFailure(error: unknown, hasBegun: boolean): unknown {
  if (!(error instanceof StoreOpenError)) return error
  const goOn = 'run the same command again: it goes on from here'
  const message = hasBegun
    ? error.message.replace('start it, or correct PURSER_DATABASE', `start it, and ${goOn}`)
    : error.message
  return new StoreOpenError(
    message.replace('PURSER_DATABASE=sqlite:', '--from sqlite:').replace('PURSER_DATABASE', '--to'),
  )
}

/** What was proved, or what does not agree. */
export function describeReport({ tables, ledgerFaults }: CopyReport): string {
  return [
    ...tables.map(
      ({ name, rows, agrees }) =>
        `  ${name.padEnd(16)} ${count(rows).padStart(12)} ${rows === 1n ? 'row ' : 'rows'}  ${agrees ? 'agrees' : 'DIFFERS'}`,
    ),
    ...ledgerFaults.slice(0, 10).map(({ subjectId, fault }) => `  ${subjectId}: ${fault}`),
    ledgerFaults.length === 0
      ? '  The ledger is sound: every sum agrees with its records.'
      : `  The ledger has ${ledgerFaults.length} faults.`,
  ].join('\n')
}

/** What to do once a copy is whole. */
export function whatNext(
  { place, wasFinished }: CopyReport,
  from: { path: string; hasProofSecret: boolean },
): string {
  return [
    '',
    `${wasFinished ? '' : 'Copied. '}Start the service with PURSER_DATABASE=${place} (and its password), and move`,
    `${from.path} away: a service that is started on it would spend the same budgets again.`,
    from.hasProofSecret
      ? 'The proof secret was copied, too: proofs that are open now are verified there.'
      : 'No proof secret is kept beside the file: give the new service the same PURSER_PROOF_SECRET.',
  ].join('\n')
}

function count(value: bigint): string {
  return value.toLocaleString('en-US')
}
