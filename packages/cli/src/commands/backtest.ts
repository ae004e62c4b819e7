import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import type { Backtest, BacktestRequest } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { listCell, optionalCell, timeCell } from '../output/cells.ts'
import { showList, showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import { clientCommand, givenFields } from './client-command.ts'
import { parsePastTime } from './when.ts'

type Flips = Backtest['to_denied']

const summary: readonly Column<Backtest>[] = [
  { title: 'from (utc)', cell: ({ from }) => timeCell(from) },
  { title: 'to (utc)', cell: ({ to, is_complete }) => `${timeCell(to)}${is_complete ? '' : ' (cut off)'}` },
  { title: 'judged', cell: ({ judged }) => String(judged) },
  { title: 'would be denied', cell: ({ to_denied }) => flipsCell(to_denied) },
  { title: 'would be approved', cell: ({ to_approved }) => flipsCell(to_approved) },
  {
    title: 'not judged',
    cell: ({ not_judged }) => listCell(not_judged.map(({ reason, count }) => `${count} ${reason}`)),
  },
]

const examples: readonly Column<Flips['examples'][number]>[] = [
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
  { title: 'was', cell: ({ recorded }) => recorded.decision },
  { title: 'would be', cell: ({ drafted }) => drafted.decision },
  { title: 'amount', cell: ({ amount }) => amount, align: 'right' },
  { title: 'merchant', cell: ({ merchant_domain }) => optionalCell(merchant_domain), canShrink: true },
  {
    title: 'reason',
    cell: ({ recorded, drafted }) => (drafted.decision === 'denied' ? drafted : recorded).reason_code,
  },
]

export function backtestCommand(io: Io) {
  return clientCommand('backtest')
    .summary('try other terms on the history of a mandate')
    .description(
      'Tries other terms on what was decided under a mandate: which evaluations and payments would have been denied, and which denials approved. Nothing is changed. The draft is a JSON file with the terms to try, as in the request that amends a mandate; omitted terms stay unchanged.',
    )
    .argument('<mandate-id>')
    .option('--draft <file>', 'JSON file with the terms to try')
    .option('--total <amount>', 'total budget to try')
    .option('--per-payment <amount>', 'max amount per payment to try')
    .option(
      '--from <time>',
      'only what was decided at or after this time, or this long ago',
      parsePastTime(io.now),
    )
    .option('--to <time>', 'only what was decided before this time, or this long ago', parsePastTime(io.now))
    .action(async (id, options) => {
      const draft = {
        ...(options.draft !== undefined && readDraft(options.draft, io)),
        ...givenFields({ max_spend_total: options.total, max_spend_per_transaction: options.perPayment }),
      }
      const { mandates } = await connect(options, io)
      const body = { draft, ...givenFields({ from: options.from, to: options.to }) }
      const report = await mandates.backtest(id, body, { signal: io.interruption() })
      showRecord(summary, report, options, io)
      const shown = [...report.to_denied.examples, ...report.to_approved.examples]
      if (options.json || shown.length === 0) return
      io.print('')
      showList(examples, shown, { none: '' }, io)
    })
}

function flipsCell({ evaluations, payments, amount, by_check }: Flips): string {
  if (evaluations + payments === 0) return 'none'
  const checks = by_check.map(({ check, reason_code }) => `check ${check} ${reason_code}`)
  return `${counted(payments, 'payment')} of ${amount} USDC, ${counted(evaluations, 'evaluation')} (${checks.join(', ')})`
}

function counted(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

function readDraft(file: string, io: Io): BacktestRequest['draft'] {
  try {
    const draft: unknown = JSON.parse(readFileSync(resolve(io.folder, file), 'utf8'))
    if (typeof draft === 'object' && draft !== null && !Array.isArray(draft)) return draft
  } catch (error) {
    throw new CommandError(
      `--draft ${file}: ${error instanceof Error ? error.message : String(error)}`,
      'usage',
    )
  }
  throw new CommandError(`--draft ${file} must be a JSON object with terms`, 'usage')
}
