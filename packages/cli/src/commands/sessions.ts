import { Command } from '@commander-js/extra-typings'
import type { AccountSession } from '@purser/client'

import { connect } from '../connection.ts'
import { listCell, optionalCell, timeCell } from '../output/cells.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { anotherAccountOption, clientCommand, givenFields, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'

const columns: readonly Column<AccountSession>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'role', cell: ({ role }) => role },
  { title: 'began by', cell: ({ kind }) => beganBy[kind] },
  { title: 'environments', cell: ({ environments }) => listCell(environments) },
  { title: 'key', cell: ({ key_id }) => optionalCell(key_id), canDrop: true },
  { title: 'began (utc)', cell: ({ created_at }) => timeCell(created_at) },
  { title: 'used (utc)', cell: ({ used_at }) => timeCell(used_at) },
  { title: 'ends (utc)', cell: ({ expires_at }) => timeCell(expires_at), canDrop: true },
]

const beganBy: Readonly<Record<AccountSession['kind'], string>> = {
  key: 'key',
  oidc: 'identity provider',
  set_up: 'set-up link',
}

export function sessionsCommand(io: Io) {
  return new Command('sessions')
    .summary('list and end sessions of the console')
    .addCommand(listSessionsCommand(io))
    .addCommand(endCommand(io))
}

function listSessionsCommand(io: Io) {
  return listCommand('list')
    .summary('list who is signed in to the console as the account, newest first')
    .addOption(anotherAccountOption())
    .action(async ({ account, ...options }) => {
      const { sessions } = await connect(options, io)
      const list: typeof sessions.list = (query, call) =>
        sessions.list({ ...query, ...givenFields({ account_id: account }) }, call)
      await listItems({ list, columns, none: 'Nobody is signed in.' }, options, io)
    })
}

function endCommand(io: Io) {
  return clientCommand('end')
    .summary('end a session; its browser is signed out at once')
    .argument('<session-id>')
    .addOption(anotherAccountOption())
    .action(async (id, { account, ...options }) => {
      const { sessions } = await connect(options, io)
      await sessions.end(id, { signal: io.interruption(), ...givenFields({ account_id: account }) })
      io.print(options.json ? JSON.stringify({ id, ended: true }, null, 2) : `${id} has ended.`)
    })
}
