import { Command, Option } from '@commander-js/extra-typings'
import type { ApiKey, IssuedApiKey } from '@purser/client'

import { connect, connectAs } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import { issueOperatorKey } from '../service-commands.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { environments, roles } from '../vocabularies.ts'
import { anotherAccountOption, clientCommand, givenFields, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'
import { mayExist } from '../may-exist.ts'

const columns: readonly Column<ApiKey>[] = [
  { title: 'id', cell: ({ id }) => id },
  { title: 'key', cell: ({ environment, hint }) => `${environment} …${hint}` },
  { title: 'role', cell: ({ role }) => role },
  { title: 'label', cell: ({ label }) => optionalCell(label), canShrink: true },
  { title: 'status', cell: ({ revoked_at }) => statusCell(revoked_at === null ? 'active' : 'revoked') },
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at), canDrop: true },
]

const recordColumns: readonly Column<ApiKey>[] = [
  ...columns,
  { title: 'revoked (utc)', cell: ({ revoked_at }) => timeCell(revoked_at) },
  { title: 'agent', cell: ({ agent_id }) => optionalCell(agent_id) },
  { title: 'account', cell: ({ account_id }) => account_id },
]

/** A newly issued key, with its secret last, where it is easy to find. */
export const issuedColumns: readonly Column<IssuedApiKey>[] = [
  ...recordColumns.filter(({ title }) => !['key', 'status', 'revoked (utc)'].includes(title)),
  { title: 'environment', cell: ({ environment }) => environment },
  { title: 'key', cell: ({ key }) => key },
]

const shownOnce = 'The key is shown only once: save it now.'

export function keysCommand(io: Io) {
  return new Command('keys')
    .summary('create, issue, list and revoke API keys')
    .addCommand(createCommand(io))
    .addCommand(issueCommand(io))
    .addCommand(listKeysCommand(io))
    .addCommand(revokeCommand(io))
}

function createCommand(io: Io) {
  return clientCommand('create')
    .summary('issue an API key, and show it once')
    .addOption(new Option('--role <role>', 'what the key may do').choices(roles).makeOptionMandatory())
    .addOption(
      new Option('--environment <name>', 'environment of the key; by default that of the key in use').choices(
        environments,
      ),
    )
    .option('--agent <agent-id>', 'agent of the key; required with --role agent')
    .option('--label <text>', 'label of the key')
    .addOption(anotherAccountOption())
    .action(async (options) => {
      if (options.role === 'agent' && options.agent === undefined) {
        throw new CommandError('--role agent needs --agent, the agent of the key', 'usage')
      }
      const { purser, environment } = await connectAs(options, io)
      const body = {
        role: options.role,
        environment: options.environment ?? environment ?? 'sandbox',
        ...givenFields({ label: options.label, agent_id: options.agent, account_id: options.account }),
      }
      const key = await purser.apiKeys
        .create(body, { signal: io.interruption() })
        .catch(mayExist('keys list', io))
      showRecord(issuedColumns, key, options, io)
      io.printError(shownOnce)
    })
}

function issueCommand(io: Io) {
  return new Command('issue')
    .summary('issue an operator key directly in the ledger, if all are lost')
    .description(
      'Issues an operator key without calling the service, for users with access to the database, on its machine, and never over HTTP. With SQLite, stop the service first. The audit log of the account records it, with the actor system. Enables the account if it is disabled.',
    )
    .requiredOption('--operator', 'the role of the key; the only one possible')
    .addOption(
      new Option('--environment <name>', 'environment of the key')
        .choices(environments)
        .default('sandbox' as const),
    )
    .option('--account <account-id>', 'account of the key; by default the one of the first start')
    .option('--label <text>', 'label of the key')
    .option(
      '--database <address>',
      'sqlite: and a path, or postgresql://user@host/name; default PURSER_DATABASE',
    )
    .option('--json', 'print one JSON document')
    .action(async (options) => {
      const { key, wasEnabled } = await issueOperatorKey(options, io)
      showRecord(issuedColumns, key, options, io)
      if (wasEnabled) io.printError(`The account ${key.account_id} was disabled and is now enabled.`)
      io.printError(shownOnce)
    })
}

function listKeysCommand(io: Io) {
  return listCommand('list')
    .summary('list API keys, without their secrets')
    .addOption(anotherAccountOption())
    .action(async ({ account, ...options }) => {
      const { apiKeys } = await connect(options, io)
      const list: typeof apiKeys.list = (query, call) =>
        apiKeys.list({ ...query, ...givenFields({ account_id: account }) }, call)
      await listItems({ list, columns, none: 'There are no keys.' }, options, io)
    })
}

function revokeCommand(io: Io) {
  return clientCommand('revoke')
    .summary('revoke an API key permanently')
    .argument('<key-id>', 'id of the key, not its secret')
    .addOption(anotherAccountOption())
    .action(async (id, { account, ...options }) => {
      const { apiKeys } = await connect(options, io)
      const key = await apiKeys.revoke(id, {
        signal: io.interruption(),
        ...givenFields({ account_id: account }),
      })
      showRecord(recordColumns, key, options, io)
    })
}
