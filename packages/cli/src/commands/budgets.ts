import { Command, Option } from '@commander-js/extra-typings'
import type { Budget } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { optionalCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, givenFields, listCommand } from './client-command.ts'
import { parseVersion } from './edit-mandate.ts'
import { collectLimits, limitHelp, limitsCell, usageCell } from './limit-options.ts'
import { listItems } from './list-items.ts'
import { mayExist } from '../may-exist.ts'

const columns: readonly Column<Budget>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'parent', cell: ({ parent_id }) => optionalCell(parent_id), canDrop: true },
  { title: 'limits', cell: ({ limits }) => limitsCell(limits), canShrink: true },
  { title: 'frozen (utc)', cell: ({ frozen_at }) => timeCell(frozen_at) },
]

const recordColumns: readonly Column<Budget>[] = [
  ...columns,
  { title: 'used', cell: ({ usage }) => usageCell(usage), isKnown: ({ usage }) => usage !== undefined },
  {
    title: 'budgets below',
    cell: ({ children }) => String(children),
    isKnown: ({ children }) => children !== undefined,
  },
  { title: 'version', cell: ({ version }) => String(version) },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
  { title: 'updated (utc)', cell: ({ updated_at }) => timeCell(updated_at) },
]

export function budgetsCommand(io: Io) {
  return new Command('budgets')
    .summary('create, list, show, change, freeze and unfreeze shared budgets')
    .addCommand(createCommand(io))
    .addCommand(listBudgetsCommand(io))
    .addCommand(showCommand(io))
    .addCommand(changeCommand(io))
    .addCommand(moveCommand('freeze', io))
    .addCommand(moveCommand('unfreeze', io))
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('create a budget that mandates and agents share')
    .description(
      'Creates a budget. Its limits count the payments of every mandate and agent that is assigned to it, or to a budget below it.',
    )
    .requiredOption('--name <name>', 'name of the budget')
    .option('--parent <budget-id>', 'budget above it; at most four levels')
    .option('--limit <limit>', limitHelp, collectLimits)
    .action(async ({ name, parent, limit, ...options }) => {
      const { budgets } = await connect(options, io)
      const body = { name, limits: limit ?? [], ...givenFields({ parent_id: parent }) }
      const budget = await budgets
        .create(body, { signal: io.interruption() })
        .catch(mayExist('budgets list', io))
      showRecord(recordColumns, budget, options, io)
    })
}

function listBudgetsCommand(io: Io) {
  return listCommand('list')
    .summary('list shared budgets, newest first')
    .action(async (options) => {
      const { budgets } = await connect(options, io)
      const none = `There are no shared budgets yet; ${io.calledAs} budgets create creates one.`
      await listItems({ list: budgets.list, columns, none }, options, io)
    })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show one shared budget, with the usage of its limits')
    .argument('<budget-id>')
    .action(async (id, options) => {
      const { budgets } = await connect(options, io)
      showRecord(recordColumns, await budgets.get(id, { signal: io.interruption() }), options, io)
    })
}

function changeCommand(io: Io) {
  return clientCommand('change')
    .summary('change the name or the limits of a shared budget at once')
    .description(
      'Changes what is given. The given limits replace all limits; one over the same window as before keeps what it has counted. If the budget changes at the same moment, nothing is changed.',
    )
    .argument('<budget-id>')
    .option('--name <name>', 'name of the budget')
    .option('--limit <limit>', limitHelp, collectLimits)
    .addOption(new Option('--no-limits', 'remove all limits').conflicts('limit'))
    .option('--end-holds', 'end all open proofs below it, so that a limit can be cut below what they hold')
    .option('--if-version <version>', 'change only this version; default: the current one', parseVersion)
    .action(async (id, { name, limit, limits, endHolds, ifVersion, ...options }) => {
      const wanted = limits ? limit : []
      if (name === undefined && wanted === undefined) {
        throw new CommandError('name what to change: --name, --limit or --no-limits', 'usage')
      }
      const { budgets } = await connect(options, io)
      const signal = io.interruption()
      const version = ifVersion ?? (await budgets.get(id, { signal })).version
      const changes = givenFields({ name, limits: wanted, end_holds: endHolds })
      showRecord(recordColumns, await budgets.change(id, version, changes, { signal }), options, io)
    })
}

const summaries = {
  freeze: 'freeze a shared budget: void open proofs below it at once, and allow no payment',
  unfreeze: 'unfreeze a shared budget; voided proofs stay void',
} as const

function moveCommand(move: keyof typeof summaries, io: Io) {
  return clientCommand(move)
    .summary(summaries[move])
    .argument('<budget-id>')
    .action(async (id, options) => {
      const { budgets } = await connect(options, io)
      showRecord(recordColumns, await budgets[move](id, { signal: io.interruption() }), options, io)
    })
}
