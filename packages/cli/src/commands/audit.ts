import { Option } from '@commander-js/extra-typings'
import type { AuditEvent } from '@purser/client'

import { connect } from '../connection.ts'
import { timeCell } from '../output/cells.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { auditEventTypes } from '../vocabularies.ts'
import { givenFields, listCommand } from './client-command.ts'
import { followItems, followOption, intervalOption } from './follow-items.ts'
import { listItems } from './list-items.ts'

const columns: readonly Column<AuditEvent>[] = [
  { title: 'created (utc)', cell: ({ created_at }) => timeCell(created_at) },
  { title: 'event', cell: ({ type }) => type },
  { title: 'subject', cell: ({ subject_id }) => subject_id },
  { title: 'actor', cell: ({ actor }) => actor, canDrop: true },
  { title: 'data', cell: ({ data }) => JSON.stringify(data), canShrink: true, canDrop: true },
]

export function auditCommand(io: Io) {
  return listCommand('audit')
    .summary('list the audit log, newest first, or follow it')
    .description('Lists what changed, who changed it and when: one event per state change.')
    .addOption(new Option('--type <type>', 'events of one type').choices(auditEventTypes))
    .option('--subject <id>', 'events about one agent, mandate, key, seller, transaction or account')
    .addOption(followOption())
    .addOption(intervalOption())
    .action(async (options) => {
      const { auditLog } = await connect(options, io)
      const filter = givenFields({ type: options.type, subject_id: options.subject })
      const list: typeof auditLog.list = (query, call) => auditLog.list({ ...filter, ...query }, call)
      if (options.follow) return followItems({ list, columns }, options, io)
      await listItems({ list, columns, none: 'No events match.' }, options, io)
    })
}
