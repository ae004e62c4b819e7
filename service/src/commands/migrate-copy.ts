import { placeOfLedger } from '../start/open-store.ts'
import { readKeptProofSecret } from '../start/proof-secret.ts'
import { copyLedger, type CopyOptions, type CopyReport } from '../copy/copy-ledger.ts'
import { describeReport, explainCopyFailure, showProgress, whatNext } from './copy-text.ts'
import { readAddress } from './database-option.ts'
import { CommandError, type Io } from './io.ts'

/** Copies a ledger from SQLite to PostgreSQL, and reports the verification. */
export async function migrateCopy(
  options: { readonly from: string; readonly to: string; readonly json?: true },
  io: Io,
): Promise<void> {
  const from = readAddress({ flag: 'from', kind: 'sqlite' }, options.from, io)
  const to = readAddress({ flag: 'to', kind: 'postgres' }, options.to, io)
  if (from.kind !== 'sqlite' || to.kind !== 'postgres') {
    throw new CommandError(
      `Copying from ${from.kind} to ${to.kind} is not supported; copy from sqlite: to postgresql:, or use pg_dump for PostgreSQL`,
    )
  }
  const say = options.json ? () => undefined : io.print
  const proofSecret = readKeptProofSecret(from.path)
  const report = await copyVisibly({ from: from.path, to: to.url, proofSecret }, io, () =>
    say(`Copying ${placeOfLedger(from)} to ${placeOfLedger(to)}`),
  )
  if (report.wasFinished)
    say(`${report.place} already contains a finished copy of this ledger; nothing to do.`)
  else say(describeReport(report))
  if (options.json) io.print(JSON.stringify(asJson(report), null, 2))
  if (!report.isProven) {
    throw new CommandError(
      `${report.place} differs from ${from.path}, and no service starts on it; start over with an empty database`,
    )
  }
  say(whatNext(report, { path: from.path, hasProofSecret: proofSecret !== undefined }))
}

/** Copies with progress; Ctrl-C stops it between two batches, and the message says how to continue. */
async function copyVisibly(
  order: Pick<CopyOptions, 'from' | 'to' | 'proofSecret'>,
  io: Io,
  sayBegin: () => void,
): Promise<CopyReport> {
  const progress = showProgress(io)
  let interruption: AbortSignal | undefined
  try {
    return await copyLedger({
      ...order,
      onBegin: () => {
        sayBegin()
        interruption = io.interruption()
        interruption.addEventListener('abort', () => {
          progress.end()
          io.printError('Interrupted; run the same command again to continue.')
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
      calledAs: io.calledAs,
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
