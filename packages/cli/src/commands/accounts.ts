import { Command } from '@commander-js/extra-typings'
import type { CreatedAccount } from '@purser/client'

import { connect } from '../connection.ts'
import { timeCell } from '../output/cells.ts'
import { harmlessJson } from '../output/harmless.ts'
import { renderRecord, type Column } from '../output/table.ts'
import type { Surroundings } from '../surroundings.ts'
import { clientCommand } from './client-command.ts'
import { issuedColumns } from './keys.ts'

const columns: readonly Column<CreatedAccount>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name },
  { title: 'email', cell: ({ email }) => email },
  { title: 'idp user id', cell: ({ idp_user_id }) => idp_user_id },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
]

export function accountsCommand(surroundings: Surroundings) {
  return new Command('accounts').summary('create accounts').addCommand(
    clientCommand('create')
      .summary('create an account, with an owner key of each environment')
      .description(
        'Creates an account for a tenant, and shows its two owner keys, once. It needs an operator key.',
      )
      .requiredOption('--name <name>', 'what it is called')
      .requiredOption('--email <address>', 'where its owner is reached')
      .requiredOption('--idp-user-id <id>', 'the user at the identity provider; one account for each')
      .action(async ({ name, email, idpUserId, ...options }) => {
        const { accounts } = await connect(options, surroundings)
        const body = { name, email, idp_user_id: idpUserId }
        const account = await accounts.create(body, { signal: surroundings.interruption() })
        const records = [
          renderRecord(columns, account, surroundings),
          ...account.api_keys.map((key) => renderRecord(issuedColumns, key, surroundings)),
        ]
        surroundings.print(options.json ? harmlessJson(account, 2) : records.join('\n\n'))
        surroundings.printError('The keys are shown this once: keep them now.')
      }),
  )
}
