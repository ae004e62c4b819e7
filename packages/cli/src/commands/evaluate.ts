import type { AgentReport, Approval, Denial } from '@purser/client'

import { connect } from '../connection.ts'
import { denialWords } from '../denial-text.ts'
import { exitCodes } from '../exit-codes.ts'
import { listCell, optionalCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, collectMetadata, parseAmount } from './client-command.ts'

const decisionColumns: readonly Column<Approval | Denial>[] = [
  {
    title: 'decision',
    cell: ({ decision }) => ({ text: decision, colour: decision === 'approved' ? 'green' : 'red' }),
  },
  { title: 'reason', cell: ({ reason_code }) => reason_code },
  { title: 'detail', cell: ({ reason_detail }) => optionalCell(reason_detail) },
  { title: 'transaction', cell: ({ transaction_id }) => optionalCell(transaction_id) },
]

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
    .requiredOption('--agent <agent-id>', 'agent that would pay')
    .requiredOption('--mandate <mandate-id>', 'mandate that it would pay from')
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
        ...(options.category !== undefined && { category: options.category }),
      }
      if (options.dryRun) {
        const report = await purser.verifyAgent(payment, call)
        const columns = [
          ...reportDecision,
          ...detailOf(report, { ...options, calledAs: io.calledAs }),
          ...reportFacts,
        ]
        showRecord(columns, report, options, io)
        if (!report.authorized) io.exitWith(exitCodes.denied)
        return
      }
      const answer = await purser.policy.evaluate(
        { ...payment, ...(options.metadata && { metadata: options.metadata }) },
        call,
      )
      showRecord(decisionColumns, answer, options, io)
      if (answer.decision !== 'approved') io.exitWith(exitCodes.denied)
    })
}

/** Why it would be denied, as a sentence; empty if it would be approved. */
function detailOf(
  { reason_code: code, mandate: { remaining_budget: left, currency } }: AgentReport,
  asked: Omit<Parameters<typeof denialWords>[1], 'left'>,
): Column<AgentReport>[] {
  if (code === 'within_policy') return []
  const words = denialWords(code, { ...asked, left: `${left} ${currency}` })
  return [{ title: 'detail', cell: () => words }]
}
