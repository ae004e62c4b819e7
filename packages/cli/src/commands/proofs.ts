import { Command } from '@commander-js/extra-typings'
import type { ProofRecord } from '@purser/client'

import { connect } from '../connection.ts'
import { amountCell, optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand } from './client-command.ts'

const recordColumns: readonly Column<ProofRecord>[] = [
  { title: 'nonce', cell: ({ nonce }) => nonce },
  { title: 'status', cell: ({ status }) => statusCell(status) },
  { title: 'amount', cell: ({ amount, currency }) => `${amountCell(amount)} ${currency}` },
  {
    title: 'charged',
    cell: ({ captured_amount: charged, currency }) =>
      charged === null ? '-' : `${amountCell(charged)} ${currency}`,
  },
  { title: 'resource', cell: ({ resource }) => resource },
  { title: 'agent', cell: ({ agent_id }) => agent_id },
  { title: 'mandate', cell: ({ mandate_id }) => mandate_id },
  { title: 'issued (utc)', cell: ({ issued_at }) => timeCell(issued_at) },
  { title: 'hold ends (utc)', cell: ({ expires_at }) => timeCell(expires_at) },
  { title: 'capture by (utc)', cell: ({ capture_deadline }) => timeCell(capture_deadline) },
  { title: 'transaction', cell: ({ transaction_id }) => optionalCell(transaction_id) },
]

export function proofsCommand(io: Io) {
  return new Command('proofs')
    .summary('show and void payment proofs')
    .addCommand(showCommand(io))
    .addCommand(voidCommand(io))
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show whether a proof is open, authorized, captured, expired or voided')
    .argument('<nonce>')
    .action(async (nonce, options) => {
      const { payments } = await connect(options, io)
      const proof = await payments.getProof(nonce, { signal: io.interruption() })
      showRecord(recordColumns, proof, options, io)
    })
}

function voidCommand(io: Io) {
  return clientCommand('void')
    .summary('void an open proof, which releases its amount at once')
    .description(
      "Voids an open proof with its agent's key or an owner's: its amount is released at once, and it can no longer be charged. A proof that has been charged stays charged.",
    )
    .argument('<nonce>')
    .action(async (nonce, options) => {
      const { payments } = await connect(options, io)
      const proof = await payments.voidProof(nonce, { signal: io.interruption() })
      showRecord(recordColumns, proof, options, io)
    })
}
