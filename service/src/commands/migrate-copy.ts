import { placeOfLedger } from '../start/open-store.ts'
import { readKeptProofSecret } from '../start/proof-secret.ts'
import { copyLedger, type CopyOptions, type CopyReport } from '../store/copy/copy-ledger.ts'
import { describeReport, explainCopyFailure, showProgress, whatNext } from './copy-words.ts'
import { readAddress } from './database-option.ts'
import { CommandError, type Surroundings } from './surroundings.ts'

/** Carries a ledger over from SQLite to PostgreSQL, and tells what was proved. */
export async function migrateCopy(
  options: { readonly from: string; readonly to: string; readonly json?: true },
  surroundings: Surroundings,
): Promise<void> {
  const from = readAddress({ flag: 'from', kind: 'sqlite' }, options.from, surroundings)
  const to = readAddress({ flag: 'to', kind: 'postgres' }, options.to, surroundings)
  if (from.kind !== 'sqlite' || to.kind !== 'postgres') {
    throw new CommandError(
      `From ${from.kind} to ${to.kind} there is no copy; it goes from sqlite: to postgresql:, and pg_dump carries PostgreSQL elsewhere`,
    )
  }
  const say = options.json ? () => undefined : surroundings.print
  const proofSecret = readKeptProofSecret(from.path)
  const report = await copyVisibly({ from: from.path, to: to.url, proofSecret }, surroundings, () =>
    say(`Copying ${placeOfLedger(from)} to ${placeOfLedger(to)}`),
  )
  if (report.wasFinished) say(`${report.place} holds a finished copy of this ledger already; nothing to do.`)
  else say(describeReport(report))
  if (options.json) surroundings.print(JSON.stringify(asJson(report), null, 2))
  if (!report.isProven) {
    throw new CommandError(
      `${report.place} does not agree with ${from.path}, and no service starts on it; begin again with an empty database`,
    )
  }
  say(whatNext(report, { path: from.path, hasProofSecret: proofSecret !== undefined }))
}

/** Copies with its progress shown; Ctrl-C ends it between two batches, and says that another run goes on. */
async function copyVisibly(
  order: Pick<CopyOptions, 'from' | 'to' | 'proofSecret'>,
  surroundings: Surroundings,
  sayBegin: () => void,
): Promise<CopyReport> {
  const progress = showProgress(surroundings)
  let interruption: AbortSignal | undefined
  try {
    return await copyLedger({
      ...order,
      onBegin: () => {
        sayBegin()
        interruption = surroundings.interruption()
        interruption.addEventListener('abort', () => {
          progress.end()
          surroundings.printError('Interrupted; run the same command again, it goes on from here.')
        })
      },
      onProgress: (reached) => {
        interruption?.throwIfAborted()
        progress.show(reached)
      },
    })
  } catch (error) {
    throw explainCopyFailure(error, {
      hasBegun: interruption !== undefined,
      calledAs: surroundings.calledAs,
    })
  } finally {
    progress.end()
  }
}

function asJson({ place, isProven, wasFinished, tables, ledgerFaults }: CopyReport) {
  return {
    ledger: place,
    is_proven: isProven,
    was_finished: wasFinished,
    tables: tables.map(({ name, rows, agrees }) => ({ name, rows: Number(rows), agrees })),
    faults: ledgerFaults.map(({ subjectId, fault }) => ({ subject_id: subjectId, fault })),
  }
}
