import { Command } from '@commander-js/extra-typings'
import { PurserError, type Agent, type Mandate, type Purser } from '@purser/client'

import { connect } from '../connection.ts'
import { harmless } from '../output/harmless.ts'
import { amountCell, listCell, metadataCell, optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { backtestCommand } from './backtest.ts'
import {
  clientCommand,
  collect,
  collectMetadata,
  givenFields,
  listCommand,
  parseAmount,
  parseIdOf,
} from './client-command.ts'
import { approvalOf, editCommand, parseApprovers } from './edit-mandate.ts'
import { collectLimits, limitHelp, limitsCell, usageCell } from './limit-options.ts'
import { listItems, pageSize } from './list-items.ts'
import { requestIncreaseCommand } from './limits/request-increase.ts'
import { mayExist } from '../may-exist.ts'
import { warningsOf } from '../mandate-warnings.ts'
import { parseWhen } from './when.ts'

const id: Column<Mandate> = { title: 'id', cell: ({ id }) => id }
const purpose: Column<Mandate> = { title: 'purpose', cell: ({ purpose }) => purpose, canShrink: true }
const status: Column<Mandate> = { title: 'status', cell: ({ status }) => statusCell(status) }
const spent: Column<Mandate> = { title: 'spent', cell: ({ spent_total }) => spent_total, align: 'right' }
const left: Column<Mandate> = {
  title: 'left',
  cell: ({ remaining_budget }) => remaining_budget,
  align: 'right',
}
const total: Column<Mandate> = {
  title: 'total',
  cell: ({ max_spend_total }) => amountCell(max_spend_total),
  align: 'right',
}
const expires: Column<Mandate> = {
  title: 'expires (utc)',
  cell: ({ expires_at }) => timeCell(expires_at),
  canDrop: true,
}

const columns = [id, purpose, status, spent, left, total, expires]

const recordColumns: readonly Column<Mandate>[] = [
  id,
  { title: 'agent', cell: ({ agent_id }) => agent_id },
  purpose,
  status,
  total,
  { title: 'per payment', cell: ({ max_spend_per_transaction }) => amountCell(max_spend_per_transaction) },
  spent,
  { title: 'held', cell: ({ held_total }) => held_total },
  { title: 'authorized', cell: ({ authorized_total }) => authorized_total },
  left,
  { title: 'currency', cell: ({ currency }) => currency },
  { title: 'sellers', cell: ({ allowed_sellers }) => listCell(allowed_sellers) },
  {
    title: 'categories',
    cell: ({ allowed_categories }) =>
      allowed_categories.length === 0 ? 'any' : listCell(allowed_categories),
  },
  { title: 'category check', cell: ({ category_check }) => category_check },
  {
    title: 'resources',
    cell: ({ allowed_resources }) => (allowed_resources.length === 0 ? 'any' : listCell(allowed_resources)),
  },
  { title: 'metadata', cell: ({ metadata }) => metadataCell(metadata) },
  { title: 'approval', cell: ({ approval }) => approvalCell(approval) },
  { title: 'limits', cell: ({ limits }) => limitsCell(limits) },
  { title: 'budget', cell: ({ budget_id }) => optionalCell(budget_id) },
  { title: 'used', cell: ({ usage }) => usageCell(usage), isKnown: ({ usage }) => usage !== undefined },
  { title: 'version', cell: ({ version }) => String(version) },
  expires,
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
  { title: 'updated (utc)', cell: ({ updated_at }) => timeCell(updated_at) },
]

/** When a person must approve a payment; a dash for never. */
function approvalCell(approval: Mandate['approval']): string {
  if (!approval) return '-'
  const { above, first_purchase_at_seller, required } = approval
  const when = [
    ...(above === null ? [] : [`above ${above}`]),
    ...(first_purchase_at_seller ? ['first purchase from a seller'] : []),
  ]
  return `${when.join(', ') || 'where a limit requires it'}${required > 1 ? `; by ${required} people` : ''}`
}

/** The operations of `purser mandates` on one mandate, with their summaries. */
const moves = {
  pause: 'pause a mandate, and void its open proofs at once',
  resume: 'resume a paused mandate',
  revoke: 'revoke a mandate permanently, and void its open proofs',
} as const

export function mandatesCommand(io: Io) {
  const command = new Command('mandates')
    .summary('create, list, show, edit, back-test, pause, resume and revoke mandates')
    .addCommand(createCommand(io))
    .addCommand(listMandatesCommand(io))
    .addCommand(showCommand(io))
    .addCommand(editCommand(recordColumns, io))
    .addCommand(requestIncreaseCommand(io))
    .addCommand(backtestCommand(io))
  for (const move of ['pause', 'resume', 'revoke'] as const) {
    command.addCommand(moveCommand(move, io))
  }
  return command
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('create a mandate for an agent')
    .description(
      'Creates a mandate for an agent: a purpose, a total budget, a cap per payment, the allowed sellers, and an expiry. Without --seller, no seller is allowed.',
    )
    .requiredOption('--agent <agent-id>', 'agent that may spend')
    .requiredOption('--purpose <text>', 'what the budget is for')
    .requiredOption('--total <amount>', 'total budget in USDC, such as 100.00', parseAmount)
    .requiredOption('--per-payment <amount>', 'max amount per payment, such as 10.00', parseAmount)
    .requiredOption(
      '--expires <when>',
      'a time with a time zone, or a duration from now: 30m, 12h, 90d',
      parseWhen(io.now),
    )
    .option('--seller <domain>', 'allowed seller, or * for all; repeatable', collect)
    .option('--category <name>', 'allowed category; default any; repeatable', collect)
    .option('--enforce-categories', 'require an allowed category for each payment')
    .option(
      '--resource <url>',
      'allowed resource, such as https://api.example.com/reports/*; default any; repeatable',
      collect,
    )
    .option('--metadata <name=text>', 'your own text about the mandate; repeatable', collectMetadata)
    .option('--limit <limit>', limitHelp, collectLimits)
    .option('--budget <budget-id>', 'shared budget that its payments count in, too')
    .option('--approve-above <amount>', 'a person must approve payments above this amount', parseAmount)
    .option('--approve-first-purchase', 'a person must approve the first purchase from each seller')
    .option('--approvers <count>', 'how many people must approve: 1 or 2', parseApprovers)
    .action(async (options) => {
      const { mandates } = await connect(options, io)
      const body = {
        agent_id: options.agent,
        purpose: options.purpose,
        max_spend_total: options.total,
        max_spend_per_transaction: options.perPayment,
        expires_at: options.expires,
        ...givenFields({
          allowed_sellers: options.seller,
          allowed_categories: options.category,
          category_check: options.enforceCategories && ('enforced' as const),
          allowed_resources: options.resource,
          metadata: options.metadata,
          limits: options.limit,
          budget_id: options.budget,
          approval: approvalOf(options),
        }),
      }
      const mandate = await mandates
        .create(body, { signal: io.interruption() })
        .catch(mayExist('mandates list', io))
      showRecord(recordColumns, mandate, options, io)
      for (const warning of warningsOf(mandate)) io.printError(harmless(warning))
    })
}

function listMandatesCommand(io: Io) {
  return listCommand('list')
    .summary('list mandates, newest first')
    .option('--agent <agent-id>', 'only those of this agent', parseIdOf('agent'))
    .option('--metadata <name=text>', 'only those with this text; repeatable', collectMetadata)
    .action(async (options) => {
      const purser = await connect(options, io)
      const { mandates } = purser
      const { agent, metadata } = options
      const makesOne = `${io.calledAs} mandates create creates one`
      const listing =
        agent === undefined
          ? { none: `There are no mandates yet; ${makesOne}.` }
          : {
              none: `There are no mandates of ${agent}; ${makesOne}.`,
              isMeant: ({ agent_id }: Mandate) => agent_id === agent,
            }
      const list: typeof mandates.list = (query, call) =>
        mandates.list({ ...query, ...givenFields({ metadata }) }, call)
      const listed = await listItems({ list, columns, ...listing }, options, io)
      warnOfExpired(listed, io)
      if (agent !== undefined) return warnOfRevoked(agent, purser, io)
      await warnOfRevokedAgents(listed, purser, io)
    })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show one mandate')
    .argument('<mandate-id>')
    .action(async (id, options) => {
      const purser = await connect(options, io)
      const mandate = await purser.mandates.get(id, { signal: io.interruption() })
      showRecord(recordColumns, mandate, options, io)
      warnOfExpired([mandate], io)
      await warnOfRevoked(mandate.agent_id, purser, io)
    })
}

function moveCommand(move: keyof typeof moves, io: Io) {
  return clientCommand(move)
    .summary(moves[move])
    .argument('<mandate-id>')
    .action(async (id, options) => {
      const purser = await connect(options, io)
      const mandate = await purser.mandates[move](id, { signal: io.interruption() })
      showRecord(recordColumns, mandate, options, io)
      if (move === 'resume') await warnOfRevoked(mandate.agent_id, purser, io)
    })
}

/** A mandate keeps its status when it expires, so show that as well. */
function warnOfExpired(listed: readonly Mandate[], io: Io): void {
  const expired = listed.filter(
    ({ status, expires_at }) => status === 'active' && Date.parse(expires_at) <= io.now(),
  )
  if (expired.length === 0) return
  const ids = expired.map(({ id }) => harmless(id)).join(', ')
  io.printError(`Nothing can be spent under expired mandates: ${ids}.`)
}

/** A mandate keeps its status when its agent is revoked, so show that as well. */
async function warnOfRevoked(agentId: string, purser: Purser, io: Io): Promise<void> {
  const agent = await findAgent(agentId, purser, io)
  if (agent?.status !== 'revoked') return
  io.printError(
    `The agent ${harmless(agent.id)} is permanently revoked: nothing can be spent under its mandates.`,
  )
}

/** Like `warnOfRevoked`, for the active mandates of a list. */
async function warnOfRevokedAgents(listed: readonly Mandate[], purser: Purser, io: Io): Promise<void> {
  const active = new Set(listed.filter(({ status }) => status === 'active').map(({ agent_id }) => agent_id))
  const revoked: string[] = []
  if (active.size === 0) return
  try {
    for await (const { id, status } of purser.agents.list(
      { limit: pageSize },
      { signal: io.interruption() },
    )) {
      if (active.delete(id) && status === 'revoked') revoked.push(harmless(id))
      if (active.size === 0) break
    }
  } catch (error) {
    // The mandates have already been listed.
    if (!(error instanceof PurserError)) throw error
  }
  if (revoked.length > 0) {
    io.printError(`Nothing can be spent under the mandates of revoked agents: ${revoked.join(', ')}.`)
  }
}

/** An agent; undefined if it cannot be read, because the mandate has already been shown. */
async function findAgent(id: string, purser: Purser, io: Io): Promise<Agent | undefined> {
  try {
    return await purser.agents.get(id, { signal: io.interruption() })
  } catch (error) {
    if (error instanceof PurserError) return undefined
    throw error
  }
}
