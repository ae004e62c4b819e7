import { Command } from '@commander-js/extra-typings'
import type { Authorization, Captured, Proof } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { amountCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import { clientCommand, parseAmount, parseCount } from './client-command.ts'

const authorizationColumns: readonly Column<Authorization>[] = [
  { title: 'nonce', cell: ({ nonce }) => nonce },
  { title: 'status', cell: ({ status }) => statusCell(status) },
  { title: 'amount', cell: ({ amount }) => `${amountCell(amount)} USDC` },
  { title: 'capture by (utc)', cell: ({ capture_deadline }) => timeCell(capture_deadline) },
]

const captureColumns: readonly Column<Captured>[] = [
  { title: 'transaction', cell: ({ transaction_id }) => transaction_id },
  { title: 'charged', cell: ({ amount }) => `${amountCell(amount)} USDC` },
]

export function paymentsCommand(io: Io) {
  return new Command('payments')
    .summary('authorize, capture and void payments, as their merchant')
    .addCommand(authorizeCommand(io))
    .addCommand(captureCommand(io))
    .addCommand(voidCommand(io))
}

function authorizeCommand(io: Io) {
  return clientCommand('authorize')
    .summary('reserve the amount of a proof without charging it')
    .description(
      'Reads a proof from standard input, as JSON in one line, verifies it and reserves its amount until a deadline. Capture or void it before then. The exit code is 3 if the proof is refused.',
    )
    .requiredOption('--merchant <domain>', 'domain under which you collect')
    .requiredOption('--amount <amount>', 'expected amount in USDC, exactly as in the proof', parseAmount)
    .option(
      '--capture-seconds <count>',
      'seconds until the deadline, at most what the mandate allows',
      parseCount,
    )
    .option('--idempotency-key <key>', 'for a retry: the same key gets the same answer')
    .action(async (options) => {
      const { payments } = await connect(options, io)
      const proof = parseProof(await io.readSecret('Proof'))
      const decision = await payments.authorize(
        {
          proof,
          merchant_domain: options.merchant,
          expected_amount: options.amount,
          ...(options.captureSeconds !== undefined && { capture_seconds: options.captureSeconds }),
        },
        { signal: io.interruption(), idempotencyKey: options.idempotencyKey },
      )
      if (decision.authorized) return showRecord(authorizationColumns, decision.authorization, options, io)
      showRecord([{ title: 'refused', cell: ({ reason }) => reason }], decision, options, io)
      io.exitWith(exitCodes.denied)
    })
}

function captureCommand(io: Io) {
  return clientCommand('capture')
    .summary('charge an authorized payment, in full or in part')
    .argument('<nonce>')
    .option('--amount <amount>', 'amount in USDC; all of it by default. The rest is released', parseAmount)
    .option('--idempotency-key <key>', 'for a retry: the same key gets the same answer')
    .action(async (nonce, { amount, idempotencyKey, ...options }) => {
      const { payments } = await connect(options, io)
      const call = { signal: io.interruption(), idempotencyKey }
      const captured = await payments.capture(nonce, amount === undefined ? {} : { amount }, call)
      showRecord(captureColumns, captured, options, io)
    })
}

function voidCommand(io: Io) {
  return clientCommand('void')
    .summary('void an authorized payment, which releases its amount at once')
    .argument('<nonce>')
    .action(async (nonce, options) => {
      const { payments } = await connect(options, io)
      const authorization = await payments.void(nonce, { signal: io.interruption() })
      showRecord(authorizationColumns, authorization, options, io)
    })
}

/** The service checks its fields. */
function parseProof(text: string): Proof {
  try {
    return JSON.parse(text) as Proof
  } catch {
    throw new CommandError('standard input has no proof: pass it as JSON in one line', 'usage')
  }
}
