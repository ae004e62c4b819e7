import { Command, Option } from '@commander-js/extra-typings'
import type { ApiKey, IssuedApiKey } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Surroundings } from '../surroundings.ts'
import { environments, roles } from '../vocabularies.ts'
import { clientCommand, listCommand } from './client-command.ts'
import { listItems } from './list-items.ts'

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
  { title: 'revoked (utc)', cell: ({ revoked_at }) => (revoked_at === null ? '-' : timeCell(revoked_at)) },
  { title: 'agent', cell: ({ agent_id }) => optionalCell(agent_id) },
  { title: 'account', cell: ({ account_id }) => account_id },
]

/** A key that was just issued, its text last, where the eye falls. */
export const issuedColumns: readonly Column<IssuedApiKey>[] = [
  ...recordColumns.filter(({ title }) => !['key', 'status', 'revoked (utc)'].includes(title)),
  { title: 'environment', cell: ({ environment }) => environment },
  { title: 'key', cell: ({ key }) => key },
]

const shownOnce = 'The key is shown this once: keep it now.'

export function keysCommand(surroundings: Surroundings) {
  return new Command('keys')
    .summary('create, list and revoke API keys')
    .addCommand(createCommand(surroundings))
    .addCommand(listKeysCommand(surroundings))
    .addCommand(revokeCommand(surroundings))
}

function createCommand(surroundings: Surroundings) {
  return clientCommand('create')
    .summary('issue an API key, and show it once')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .addOption(
      new Option('--environment <name>', 'where it works').choices(environments).default('sandbox' as const),
    )
    .option('--agent <agent-id>', 'the agent that it speaks for; needed with --role agent')
    .option('--label <text>', 'what to know it by')
    .option('--account <account-id>', 'another account; for operators')
    .action(async (options) => {
      if (options.role === 'agent' && options.agent === undefined) {
        throw new CommandError('--role agent needs --agent, the agent that the key speaks for', 'usage')
      }
      const { apiKeys } = await connect(options, surroundings)
      const body = {
        role: options.role,
        environment: options.environment,
        ...(options.label !== undefined && { label: options.label }),
        ...(options.agent !== undefined && { agent_id: options.agent }),
        ...(options.account !== undefined && { account_id: options.account }),
      }
      const key = await apiKeys.create(body, { signal: surroundings.interruption() })
      showRecord(issuedColumns, key, options, surroundings)
      surroundings.printError(shownOnce)
    })
}

function listKeysCommand(surroundings: Surroundings) {
  return listCommand('list')
    .summary('list API keys, without their text')
    .action(async (options) => {
      const { apiKeys } = await connect(options, surroundings)
      await listItems({ list: apiKeys.list, columns, none: 'There are no keys.' }, options, surroundings)
    })
}

function revokeCommand(surroundings: Surroundings) {
  return clientCommand('revoke')
    .summary('revoke an API key for good')
    .argument('<key-id>', 'its id, not its text')
    .action(async (id, options) => {
      const { apiKeys } = await connect(options, surroundings)
      const key = await apiKeys.revoke(id, { signal: surroundings.interruption() })
      showRecord(recordColumns, key, options, surroundings)
    })
}
