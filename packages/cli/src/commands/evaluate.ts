import {
  PermissionError,
  type AgentReport,
  type Approval,
  type Denial,
  type ProposedPayment,
  type Purser,
} from '@purser/client'

import { connect } from '../connection.ts'
import { exitCodes } from '../exit-codes.ts'
import { listCell, optionalCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { mayExist } from '../may-exist.ts'
import { clientCommand, collectMetadata, givenFields, parseAmount, parseIdOf } from './client-command.ts'

const decisionColumns: readonly Column<Approval | Denial>[] = [
  {
    title: 'decision',
    cell: ({ decision }) => ({ text: decision, colour: decision === 'approved' ? 'green' : 'red' }),
  },
  { title: 'reason', cell: ({ reason_code }) => reason_code },
  { title: 'detail', cell: ({ reason_detail }) => optionalCell(reason_detail) },
  { title: 'transaction', cell: ({ transaction_id }) => optionalCell(transaction_id) },
]

/** The report of verify-agent, with the reason of a denial. */
type DryReport = AgentReport & Partial<Pick<Denial, 'reason_detail' | 'limit' | 'budget'>>

const reportDecision: readonly Column<AgentReport>[] = [
  {
    title: 'decision',
    cell: ({ authorized }) =>
      authorized ? { text: 'approved', colour: 'green' } : { text: 'denied', colour: 'red' },
  },
  { title: 'reason', cell: ({ reason_code }) => reason_code },
]

const reportFacts: readonly Column<AgentReport>[] = [
  { title: 'agent', cell: ({ agent }) => `${agent.name} (${agent.status})` },
  { title: 'left', cell: ({ mandate }) => `${mandate.remaining_budget} ${mandate.currency}` },
  { title: 'risk', cell: ({ risk }) => `${risk.score} of 100` },
  { title: 'risk flags', cell: ({ risk }) => listCell(risk.flags) },
]

export function evaluateCommand(io: Io) {
  return clientCommand('evaluate')
    .summary('check whether the policy allows a payment')
    .description(
      'Runs every policy check on a payment and records the decision as a transaction; nothing is paid or held. With --dry-run nothing is recorded either. The exit code is 3 if the payment is denied.',
    )
    .requiredOption('--agent <agent-id>', 'agent that would pay', parseIdOf('agent'))
    .requiredOption('--mandate <mandate-id>', 'mandate that it would pay from', parseIdOf('mandate'))
    .requiredOption('--merchant <domain>', 'domain of the seller')
    .requiredOption('--amount <amount>', 'amount in USDC, such as 4.00', parseAmount)
    .requiredOption('--resource <url>', 'URL to be paid for')
    .option('--category <name>', 'category of the purchase')
    .option('--metadata <name=text>', 'your own text for the transaction; repeatable', collectMetadata)
    .option('--dry-run', 'record nothing')
    .action(async (options) => {
      const purser = await connect(options, io)
      const call = { signal: io.interruption() }
      const payment = {
        agent_id: options.agent,
        mandate_id: options.mandate,
        merchant_domain: options.merchant,
        amount: options.amount,
        resource_url: options.resource,
        ...givenFields({ category: options.category }),
      }
      if (options.dryRun) {
        const report = await dryRun(purser, payment, call)
        showRecord([...reportDecision, ...whyColumns(report), ...reportFacts], report, options, io)
        if (!report.authorized) io.exitWith(exitCodes.denied)
        return
      }
      const body = { ...payment, ...givenFields({ metadata: options.metadata }) }
      const list = `transactions list --mandate ${options.mandate}`
      // A retry would be recorded as another evaluation.
      const answer = await purser.policy
        .evaluate(body, { ...call, maxRetries: 0 })
        .catch(mayExist(list, io, 'recorded'))
      showRecord(
        [...decisionColumns, ...limitColumn(answer.decision === 'denied' ? answer.limit : undefined)],
        answer,
        options,
        io,
      )
      if (answer.decision !== 'approved') io.exitWith(exitCodes.denied)
    })
}

/** Why it is denied; no columns if it is approved, or if only the code is known. */
function whyColumns({ reason_detail: detail, limit }: DryReport): Column<DryReport>[] {
  if (detail === undefined) return []
  return [{ title: 'detail', cell: () => detail }, ...limitColumn(limit)]
}

/** The limit that refuses a payment, if one does. */
function limitColumn(limit: Denial['limit']): Column<unknown>[] {
  return limit ? [{ title: 'limit', cell: () => `${limit.id} of ${limit.scope_id}` }] : []
}

async function dryRun(
  purser: Purser,
  payment: ProposedPayment,
  call: { readonly signal: AbortSignal },
): Promise<DryReport> {
  const report = await purser.verifyAgent(payment, call)
  if (report.authorized) return report
  try {
    const evaluation = await purser.policy.evaluate({ ...payment, dry_run: true }, call)
    if (evaluation.decision === 'approved') return report
    const { reason_detail, limit, budget } = evaluation
    return { ...report, reason_detail, ...givenFields({ limit, budget }) }
  } catch (error) {
    // A merchant is told only the code.
    if (error instanceof PermissionError) return report
    throw error
  }
}
