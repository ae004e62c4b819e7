import { Command } from '@commander-js/extra-typings'
import type { Agent } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { listCell, optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { harmless } from '../output/harmless.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, collect, givenFields, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'
import { mayExist } from '../may-exist.ts'

const columns: readonly Column<Agent>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'status', cell: ({ status }) => statusCell(status) },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
]

const recordColumns: readonly Column<Agent>[] = [
  ...columns,
  { title: 'revoked (utc)', cell: ({ revoked_at }) => timeCell(revoked_at) },
  { title: 'description', cell: ({ description }) => optionalCell(description) },
  { title: 'budget', cell: ({ budget_id }) => optionalCell(budget_id) },
  { title: 'capabilities', cell: ({ capabilities }) => listCell(capabilities) },
]

export function agentsCommand(io: Io) {
  return new Command('agents')
    .summary('create, list, show and revoke agents, and assign them to shared budgets')
    .addCommand(createCommand(io))
    .addCommand(listAgentsCommand(io))
    .addCommand(showCommand(io))
    .addCommand(budgetCommand(io))
    .addCommand(revokeCommand(io))
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('create an agent')
    .description(
      'Creates an agent. It cannot spend anything until it has a mandate: see purser mandates create.',
    )
    .requiredOption('--name <name>', 'name of the agent')
    .option('--description <text>', 'what the agent is for')
    .option('--capability <word>', 'what the agent can do; repeatable', collect)
    .action(async ({ name, description, capability, ...options }) => {
      const purser = await connect(options, io)
      const body = { name, ...givenFields({ description, capabilities: capability }) }
      const agent = await purser.agents
        .create(body, { signal: io.interruption() })
        .catch(mayExist('agents list', io))
      showRecord(recordColumns, agent, options, io)
    })
}

function listAgentsCommand(io: Io) {
  return listCommand('list')
    .summary('list agents, newest first')
    .action(async (options) => {
      const { agents } = await connect(options, io)
      const none = `There are no agents yet; ${io.calledAs} agents create creates one.`
      await listItems({ list: agents.list, columns, none }, options, io)
    })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show one agent')
    .argument('<agent-id>')
    .action(async (id, options) => {
      const purser = await connect(options, io)
      const agent = await purser.agents.get(id, { signal: io.interruption() })
      showRecord(recordColumns, agent, options, io)
      if (!options.json) {
        const { calledAs, printError } = io
        printError(`${calledAs} mandates list --agent ${harmless(agent.id)} lists its mandates.`)
      }
    })
}

function revokeCommand(io: Io) {
  return clientCommand('revoke')
    .summary('revoke an agent permanently, and void its open proofs')
    .description(
      'Revokes an agent permanently, and voids its open proofs at once. It does not ask for confirmation, so that a stop is not delayed.',
    )
    .argument('<agent-id>')
    .action(async (id, options) => {
      const purser = await connect(options, io)
      const agent = await purser.agents.revoke(id, { signal: io.interruption() })
      showRecord(recordColumns, agent, options, io)
    })
}

function budgetCommand(io: Io) {
  return clientCommand('budget')
    .summary('assign an agent to a shared budget, or to none')
    .description(
      'Assigns an agent to a shared budget: what all its mandates pay from now on also counts there. Earlier payments keep counting where they were booked.',
    )
    .argument('<agent-id>')
    .argument('[budget-id]')
    .option('--no-budget', 'remove the agent from its budget')
    .action(async (id, budgetId, options) => {
      if ((budgetId === undefined) === options.budget) {
        throw new CommandError('name a budget, or --no-budget to remove the agent from its budget', 'usage')
      }
      const { agents } = await connect(options, io)
      const agent = await agents.update(id, { budget_id: budgetId ?? null }, { signal: io.interruption() })
      showRecord(recordColumns, agent, options, io)
    })
}
