import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { Mandate, MandateAmendment, NewLimit } from '@purser/client'

import { connect } from '../connection.ts'
import { CommandError } from '../exit-codes.ts'
import { harmless } from '../output/harmless.ts'
import { showRecord } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'
import { clientCommand, collect, collectMetadata, givenFields, parseAmount } from './client-command.ts'
import { collectLimits, limitHelp } from './limit-options.ts'
import { warningsOf } from '../mandate-warnings.ts'
import { parseWhen } from './when.ts'

/** `purser mandates edit`: changes the terms of a mandate, unless it has changed in the meantime. */
export function editCommand(recordColumns: readonly Column<Mandate>[], io: Io) {
  return clientCommand('edit')
    .summary('change the terms of a mandate at once')
    .description(
      'Changes the given terms, and keeps the others. A list, or the metadata, is replaced as a whole. An agent may narrow its own mandate; only an owner widens one. If the mandate changes at the same moment, nothing is changed.',
    )
    .argument('<mandate-id>')
    .option('--purpose <text>', 'what the budget is for')
    .option('--total <amount>', 'total budget in USDC, such as 100.00', parseAmount)
    .option('--per-payment <amount>', 'max amount per payment, such as 10.00', parseAmount)
    .option('--expires <when>', 'a time with a time zone, or a duration from now', parseWhen(io.now))
    .option('--seller <domain>', 'allowed seller, or * for all; repeatable', collect)
    .option('--category <name>', 'allowed category, or * for all; repeatable', collect)
    .addOption(
      new Option('--category-check <when>', 'whether a payment needs an allowed category').choices([
        'advisory',
        'enforced',
      ] as const),
    )
    .option('--resource <url>', 'allowed resource; repeatable', collect)
    .option(
      '--metadata <name=text>',
      'your own text about the mandate, in place of all it has; repeatable',
      collectMetadata,
    )
    .option('--limit <limit>', limitHelp, collectLimits)
    .addOption(new Option('--no-limits', 'remove all limits over time').conflicts('limit'))
    .option('--budget <budget-id>', 'shared budget that its payments count in from now on')
    .option('--no-budget', 'remove the mandate from its shared budget')
    .option('--approve-above <amount>', 'a person must approve payments above this amount', parseAmount)
    .option('--no-approve-above', 'stop requiring approval by amount')
    .option('--approve-first-purchase', 'a person must approve the first purchase from each seller')
    .option('--no-approve-first-purchase', 'stop requiring approval of first purchases')
    .option('--approvers <count>', 'how many people must approve: 1 or 2', parseApprovers)
    .addOption(
      new Option('--no-approval', 'remove all rules of approval').conflicts([
        'approveAbove',
        'approveFirstPurchase',
        'approvers',
      ]),
    )
    .option('--end-holds', 'end all open proofs, even if no term changes')
    .option('--if-version <version>', 'change only this version; default: the current one', parseVersion)
    .action(async (id, options) => {
      const given = changesOf(options)
      if (Object.keys(given).length === 0 && !asksApproval(options) && !options.endHolds) {
        throw new CommandError('name at least one term to change, such as --total', 'usage')
      }
      const { mandates } = await connect(options, io)
      const signal = io.interruption()
      const needsRead = options.ifVersion === undefined || asksApproval(options)
      const before = needsRead ? await mandates.get(id, { signal }) : undefined
      const version = options.ifVersion ?? before?.version ?? 0
      const body = {
        ...given,
        ...editedApproval(options, before),
        ...givenFields({ end_holds: options.endHolds }),
      }
      const mandate = await mandates.amend(id, version, body, { signal })
      showRecord(recordColumns, mandate, options, io)
      for (const warning of warningsOf(mandate)) io.printError(harmless(warning))
    })
}

export interface ApprovalOptions {
  readonly approveAbove?: string | undefined
  readonly approveFirstPurchase?: true | undefined
  readonly approvers?: number | undefined
}

/** When a person must approve a payment; undefined if no option says so. */
export function approvalOf({ approveAbove, approveFirstPurchase, approvers }: ApprovalOptions) {
  const terms = { above: approveAbove, first_purchase_at_seller: approveFirstPurchase, required: approvers }
  const approval = givenFields(terms)
  return Object.keys(approval).length === 0 ? undefined : approval
}

/** Whether an option changes a rule of approval, and leaves the others. */
function asksApproval({ approval, approveAbove, approveFirstPurchase, approvers }: EditOptions): boolean {
  const rules = [approveAbove, approveFirstPurchase, approvers]
  return approval && rules.some((rule) => rule !== undefined)
}

/** The rules of approval as a whole, as an amendment has them. */
function editedApproval(
  options: EditOptions,
  before: Pick<Mandate, 'approval'> | undefined,
): Pick<MandateAmendment, 'approval'> {
  if (!asksApproval(options)) return {}
  const { approveAbove, approveFirstPurchase, approvers } = options
  return {
    approval: {
      ...before?.approval,
      ...givenFields({
        above: typeof approveAbove === 'boolean' ? null : approveAbove,
        first_purchase_at_seller: approveFirstPurchase,
        required: approvers,
      }),
    },
  }
}

interface EditOptions {
  readonly purpose?: string | undefined
  readonly total?: string | undefined
  readonly perPayment?: string | undefined
  readonly expires?: string | undefined
  readonly seller?: string[] | undefined
  readonly category?: string[] | undefined
  readonly categoryCheck?: 'advisory' | 'enforced' | undefined
  readonly resource?: string[] | undefined
  readonly metadata?: Record<string, string> | undefined
  readonly limit?: NewLimit[] | undefined
  /** False with `--no-approve-above`. */
  readonly approveAbove?: string | boolean | undefined
  /** False with `--no-approve-first-purchase`. */
  readonly approveFirstPurchase?: boolean | undefined
  readonly approvers?: number | undefined
  /** False with `--no-limits`. */
  readonly limits: boolean
  /** False with `--no-budget`. */
  readonly budget?: string | boolean | undefined
  /** False with `--no-approval`. */
  readonly approval: boolean
}

function changesOf(options: EditOptions): MandateAmendment {
  return givenFields({
    purpose: options.purpose,
    max_spend_total: options.total,
    max_spend_per_transaction: options.perPayment,
    expires_at: options.expires,
    allowed_sellers: options.seller,
    allowed_categories: options.category,
    category_check: options.categoryCheck,
    allowed_resources: options.resource,
    metadata: options.metadata,
    limits: options.limits ? options.limit : [],
    budget_id: typeof options.budget === 'boolean' ? null : options.budget,
    approval: options.approval ? undefined : null,
  })
}

/** One or two people. */
export function parseApprovers(text: string): number {
  if (text === '1' || text === '2') return Number(text)
  throw new InvalidArgumentError('It must be 1 or 2.')
}

/** The version of a record. */
export function parseVersion(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, 1 or more.')
}
