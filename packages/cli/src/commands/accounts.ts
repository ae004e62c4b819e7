import { Command } from '@commander-js/extra-typings'
import type { Account } from '@purser/client'

import { connect } from '../connection.ts'
import { statusCell, timeCell } from '../output/cells.ts'
import { harmlessJson } from '../output/harmless.ts'
import { showRecord } from '../output/show.ts'
import { renderRecord, type Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, listCommand } from './client-command.ts'
import { issuedColumns } from './keys.ts'
import { listItems } from './list-items.ts'
import { mayExist } from '../may-exist.ts'

const columns: readonly Column<Account>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name, canShrink: true },
  { title: 'status', cell: ({ status }) => statusCell(status) },
  { title: 'email', cell: ({ email }) => email, canShrink: true },
  { title: 'idp user id', cell: ({ idp_user_id }) => idp_user_id, canShrink: true },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at), canDrop: true },
]

const recordColumns: readonly Column<Account>[] = [
  ...columns,
  { title: 'disabled (utc)', cell: ({ disabled_at }) => timeCell(disabled_at) },
]

export function accountsCommand(io: Io) {
  return new Command('accounts')
    .summary('create, list, disable and enable accounts')
    .addCommand(createCommand(io))
    .addCommand(listAccountsCommand(io))
    .addCommand(showCommand(io))
    .addCommand(disableCommand(io))
    .addCommand(enableCommand(io))
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('create an account with an owner key for each environment')
    .description('Creates an account for a tenant, and shows its two owner keys once. Needs an operator key.')
    .requiredOption('--name <name>', 'name of the account')
    .requiredOption('--email <address>', 'e-mail address of the owner')
    .requiredOption('--idp-user-id <id>', 'user id at the identity provider; unique per account')
    .action(async ({ name, email, idpUserId, ...options }) => {
      const { accounts } = await connect(options, io)
      const body = { name, email, idp_user_id: idpUserId }
      const account = await accounts
        .create(body, { signal: io.interruption() })
        .catch(mayExist('accounts list', io))
      const records = [
        renderRecord(columns, account, io),
        ...account.api_keys.map((key) => renderRecord(issuedColumns, key, io)),
      ]
      io.print(options.json ? harmlessJson(account, 2) : records.join('\n\n'))
      io.printError('The keys are shown only once: save them now.')
    })
}

function listAccountsCommand(io: Io) {
  return listCommand('list')
    .summary('list all accounts of the service, newest first; needs an operator key')
    .action(async (options) => {
      const { accounts } = await connect(options, io)
      await listItems({ list: accounts.list, columns, none: 'There are no accounts.' }, options, io)
    })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show an account')
    .argument('<account-id>')
    .action(async (id, options) => {
      const { accounts } = await connect(options, io)
      const account = await accounts.get(id, { signal: io.interruption() })
      showRecord(recordColumns, account, options, io)
    })
}

function disableCommand(io: Io) {
  return clientCommand('disable')
    .summary('stop all keys and sessions of an account, and void its open proofs')
    .description(
      'Disables an account: when the command returns, its keys and sessions no longer work, its merchants cannot collect, and its open proofs are voided. Nothing is deleted; accounts enable reverses it, except for the proofs. Needs an operator key of another account.',
    )
    .argument('<account-id>')
    .action(async (id, options) => {
      const { accounts } = await connect(options, io)
      const account = await accounts.disable(id, { signal: io.interruption() })
      showRecord(recordColumns, account, options, io)
    })
}

function enableCommand(io: Io) {
  return clientCommand('enable')
    .summary('enable the keys and sessions of a disabled account again')
    .argument('<account-id>')
    .action(async (id, options) => {
      const { accounts } = await connect(options, io)
      const account = await accounts.enable(id, { signal: io.interruption() })
      showRecord(recordColumns, account, options, io)
    })
}
