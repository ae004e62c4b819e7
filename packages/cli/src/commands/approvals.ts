import { Command, Option } from '@commander-js/extra-typings'
import { ApiError, type ApprovalRequest, type Mandate } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { optionalCell, statusCell, timeCell } from '../output/cells.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { approvalStatuses } from '../vocabularies.ts'
import { clientCommand, givenFields, listCommand, parseIdOf } from './client-command.ts'
import { limitsCell } from './limit-options.ts'
import { listItems } from './list-items.ts'

const id: Column<ApprovalRequest> = { title: 'id', cell: ({ id }) => id }
const status: Column<ApprovalRequest> = { title: 'status', cell: ({ status }) => statusCell(status) }
const what: Column<ApprovalRequest> = { title: 'what', cell: whatIsAsked, canShrink: true }
const why: Column<ApprovalRequest> = { title: 'why', cell: whyAsked, canShrink: true }
const until: Column<ApprovalRequest> = {
  title: 'until (utc)',
  cell: ({ expires_at }) => timeCell(expires_at),
  canDrop: true,
}

const columns = [id, status, what, why, until]

export const recordColumns: readonly Column<ApprovalRequest>[] = [
  id,
  { title: 'kind', cell: ({ kind }) => kind },
  status,
  what,
  why,
  { title: 'agent', cell: ({ agent_id }) => agent_id },
  { title: 'mandate', cell: ({ mandate_id }) => mandate_id },
  { title: 'requested (utc)', cell: ({ requested_at }) => timeCell(requested_at) },
  until,
  { title: 'people needed', cell: ({ required }) => String(required) },
  { title: 'decisions', cell: decisionsOf },
  { title: 'proof', cell: ({ nonce }) => optionalCell(nonce) },
  { title: 'console', cell: ({ url }) => url },
]

function whatIsAsked({ amount, resource_url, change }: ApprovalRequest): string {
  return amount === null ? termsText(change ?? {}) : `pay ${amount} USDC for ${resource_url ?? ''}`
}

type Terms = NonNullable<ApprovalRequest['change']>

function termsText({ limits, ...others }: Terms): string {
  return [
    ...Object.entries(others).map(([name, value]) => `${name} ${value}`),
    // A change of limits replaces all of them.
    ...(limits ? [`all limits: ${limits.length === 0 ? 'none' : limitsCell(limits)}`] : []),
  ].join(', ')
}

/** The columns of a requested increase, with what the mandate allows now. */
function besideTermsNow(mandate: Mandate): readonly Column<ApprovalRequest>[] {
  const now: Column<ApprovalRequest> = {
    title: 'the mandate has',
    cell: ({ change }) => {
      const names = Object.keys(change ?? {}) as (keyof Terms & keyof Mandate)[]
      return termsText(Object.fromEntries(names.map((name) => [name, mandate[name]])))
    },
  }
  const index = recordColumns.indexOf(what) + 1
  return [...recordColumns.slice(0, index), now, ...recordColumns.slice(index)]
}

const reasons = {
  above: 'over the amount that needs approval',
  first_purchase_at_seller: 'first purchase from this seller',
  limit: 'over a limit',
  increase: 'larger budget asked for',
} as const satisfies Record<ApprovalRequest['reason']['code'], string>

function whyAsked({ reason: { code, message } }: ApprovalRequest): string {
  return message ?? reasons[code]
}

function decisionsOf({ decisions }: ApprovalRequest): string {
  return optionalCell(
    decisions
      .map(
        ({ actor, decision, note, at }) =>
          `${decision} by ${actor} at ${timeCell(at)}${note === null ? '' : `: ${note}`}`,
      )
      .join('; '),
  )
}

export function approvalsCommand(io: Io) {
  return new Command('approvals')
    .summary('list, show, approve and deny requests that need a person')
    .addCommand(listApprovalsCommand(io))
    .addCommand(showCommand(io))
    .addCommand(decideCommand('approve', io))
    .addCommand(decideCommand('deny', io))
}

function listApprovalsCommand(io: Io) {
  return listCommand('list')
    .summary('list approvals, newest first; pending ones by default')
    .addOption(
      new Option('--status <status>', 'only those with this status, or all')
        .choices([...approvalStatuses, 'all'])
        .default('pending'),
    )
    .option('--mandate <mandate-id>', 'only those under this mandate', parseIdOf('mandate'))
    .action(async (options) => {
      const { approvals } = await connect(options, io)
      const filter = {
        ...(options.status !== 'all' && { status: options.status }),
        ...givenFields({ mandate_id: options.mandate }),
      }
      const list: typeof approvals.list = (query, call) => approvals.list({ ...query, ...filter }, call)
      const none = options.status === 'pending' ? 'Nothing waits for a decision.' : 'There are none.'
      await listItems({ list, columns, none }, options, io)
    })
}

function showCommand(io: Io) {
  return clientCommand('show')
    .summary('show one approval, with what was decided so far')
    .argument('<approval-id>')
    .action(async (id, options) => {
      const { approvals, mandates } = await connect(options, io)
      const signal = io.interruption()
      const approval = await approvals.get(id, { signal })
      const isOpenIncrease = approval.change !== null && approval.status === 'pending'
      const mandate = isOpenIncrease ? await mandates.get(approval.mandate_id, { signal }) : undefined
      showRecord(mandate ? besideTermsNow(mandate) : recordColumns, approval, options, io)
    })
}

const summaries = {
  approve: 'approve a payment, or an increase, which takes effect at once',
  deny: 'deny a payment or an increase, or withdraw an unused approval',
} as const

function decideCommand(verb: keyof typeof summaries, io: Io) {
  return clientCommand(verb)
    .summary(summaries[verb])
    .argument('<approval-id>')
    .option('--note <text>', 'note to keep with the decision')
    .action(async (id, options) => {
      const { approvals } = await connect(options, io)
      const note = { note: options.note ?? null }
      const approval = await approvals[verb](id, note, { signal: io.interruption() }).catch(refuseOutdated)
      showRecord(recordColumns, approval, options, io)
      if (verb === 'approve' && approval.status === 'pending') {
        io.printError('A second person must approve it as well.')
      }
    })
}

/** An increase was requested for terms that the mandate no longer has: repeating the command would not help. */
function refuseOutdated(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'version_mismatch') throw error
  throw new CommandError(
    'the mandate has changed since this request; deny it, and let the agent ask again',
    'failed',
  )
}
