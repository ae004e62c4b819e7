import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { Command } from '@commander-js/extra-typings'
import type { Authorization, Captured, NotAuthorized, Proof } from '@purser/client'

import { connect } from '../connection.ts'
import { codeOf } from '../error-code.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { mayBe } from '../may-exist.ts'
import { amountCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import { clientCommand, givenFields, parseAmount, parseCount } from './client-command.ts'

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

const refusalColumns: readonly Column<NotAuthorized>[] = [
  { title: 'refused', cell: ({ reason }) => reason },
  { title: 'detail', cell: ({ reason }) => (reason === 'nonce_reused' ? reusedWords : '-') },
]

const reusedWords =
  'The proof was authorized or charged before. If that was your own call and its answer was lost, repeat it with its --idempotency-key, or capture or void the payment; otherwise deliver nothing.'

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
      'Reads a proof from --proof or standard input, as JSON or as it arrives in X-Payment-Proof, verifies it and reserves its amount until a deadline. Capture or void it before then. The exit code is 3 if the proof is refused.',
    )
    .requiredOption('--merchant <domain>', 'domain under which you collect')
    .requiredOption('--amount <amount>', 'expected amount in USDC, exactly as in the proof', parseAmount)
    .option('--proof <file>', 'file with the proof; by default standard input')
    .option(
      '--capture-seconds <count>',
      'seconds until the deadline, at most what the mandate allows',
      parseCount,
    )
    .option('--idempotency-key <key>', 'for a retry: the same key gets the same answer')
    .action(async ({ idempotencyKey = crypto.randomUUID(), ...options }) => {
      const { payments } = await connect(options, io)
      const request = {
        proof: await readProof(options.proof, io),
        merchant_domain: options.merchant,
        expected_amount: options.amount,
        ...givenFields({ capture_seconds: options.captureSeconds }),
      }
      const decision = await payments
        .authorize(request, { signal: io.interruption(), idempotencyKey })
        .catch(mayBe('authorized', idempotencyKey, io))
      if (decision.authorized) return showRecord(authorizationColumns, decision.authorization, options, io)
      showRecord(refusalColumns, decision, options, io)
      io.exitWith(exitCodes.denied)
    })
}

function captureCommand(io: Io) {
  return clientCommand('capture')
    .summary('charge an authorized payment, in full or in part')
    .argument('<nonce>')
    .option('--amount <amount>', 'amount in USDC; all of it by default. The rest is released', parseAmount)
    .option('--idempotency-key <key>', 'for a retry: the same key gets the same answer')
    .action(async (nonce, { amount, idempotencyKey = crypto.randomUUID(), ...options }) => {
      const { payments } = await connect(options, io)
      const call = { signal: io.interruption(), idempotencyKey }
      const captured = await payments
        .capture(nonce, amount === undefined ? {} : { amount }, call)
        .catch(mayBe('charged', idempotencyKey, io))
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

/**
 * The proof in a file or standard input: JSON or base64url of it, in any number of lines, or the whole answer that it came in.
 * The service checks its fields.
 */
async function readProof(file: string | undefined, io: Io): Promise<Proof> {
  const input = file === undefined ? await io.readInput('Proof') : readText(resolve(io.folder, file))
  const text = input.replaceAll(/[\r\n]/g, '').trim()
  try {
    const json = text.startsWith('{') ? text : Buffer.from(text, 'base64url').toString('utf8')
    const given = JSON.parse(json) as Proof | { readonly proof: Proof }
    return 'proof' in given ? given.proof : given
  } catch {
    throw new CommandError(`${file ?? 'standard input'} has no proof: pass it as JSON or base64url`, 'usage')
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError(`${path} cannot be read (${codeOf(error)})`, 'usage')
  }
}
