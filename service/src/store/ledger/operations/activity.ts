import {
  isOfOtherAccount,
  isSpending,
  mergeParts,
  PartSums,
  quarterMs,
  sellersPaidIn,
  sumsOfParts,
  type ActivityPart,
} from '../activity.ts'
import type { NetChange } from '../driver.ts'
import { add, operation, range, remove } from '../operation.ts'
import {
  activity,
  activityParts,
  entries,
  evaluations,
  paidSellers,
  payments,
  type EntryRow,
  type EvaluationRow,
  type PaymentRow,
} from '../tables.ts'

/**
 * What the entries of a batch add to the console's sums: one row per account, written together with the
 * entries. So each entry is counted exactly once, however late it is committed and whatever the clock says.
 */
export function activityPartsOf(changes: readonly NetChange[]): NetChange[] {
  const accounts = new Map<string, EntryRow[]>()
  /** What the entries are about. */
  const known = new Map<string, PaymentRow | EvaluationRow>()
  for (const { table, before, now } of changes) {
    if (!now) continue
    if (table === payments) known.set(now['nonce'] as string, now as PaymentRow)
    else if (table === evaluations) known.set(now['id'] as string, now as EvaluationRow)
    else if (table === entries && !before) {
      const entry = now as EntryRow
      const own = accounts.get(entry.accountId)
      if (own) own.push(entry)
      else accounts.set(entry.accountId, [entry])
    }
  }
  return [...accounts].map(([accountId, own]) => ({
    table: activityParts,
    before: undefined,
    // No other batch adds the same entry.
    now: { accountId, id: own[0]!.id, parts: partsOf(own, known) },
  }))
}

function partsOf(
  own: readonly EntryRow[],
  known: ReadonlyMap<string, PaymentRow | EvaluationRow>,
): ActivityPart[] {
  const sums = new PartSums()
  for (const entry of own) {
    const { environment, kind, mandateId, amountMicro, count, atMs } = entry
    const { subjects, agentId } = aboutEntry(entry, known)
    const id = isOfOtherAccount(kind) ? '' : (mandateId ?? '')
    const micro = isMoney(kind) ? amountMicro : 0n
    sums.add([environment, atMs - (atMs % quarterMs), kind, ...subjects], id, { count, micro, agentId })
  }
  return sums.parts
}

/** Whether the amount of an entry was charged or refunded, not only requested. */
function isMoney(kind: EntryRow['kind']): boolean {
  return kind === 'paid' || kind === 'refunded' || isOfOtherAccount(kind)
}

type Subjects = readonly [
  reason: string | null,
  merchantDomain: string | null,
  isRevenue: boolean,
  category: string | null,
]

/**
 * Why an entry was denied, its seller's domain, whether it is revenue of the entry's account, and what the account pays
 * for; and the agent, if it counts in the account's spending.
 */
function aboutEntry(
  { accountId, id, nonce, kind }: EntryRow,
  known: ReadonlyMap<string, PaymentRow | EvaluationRow>,
): { readonly subjects: Subjects; readonly agentId?: string | undefined } {
  if (kind === 'more_denied') return { subjects: [null, null, false, null] }
  if (kind === 'approved' || kind === 'denied') {
    const evaluation = known.get(id) as EvaluationRow | undefined
    return { subjects: [evaluation?.reasonCode ?? null, evaluation?.merchantDomain ?? null, false, null] }
  }
  const payment = nonce === null ? undefined : (known.get(nonce) as PaymentRow | undefined)
  const spent = isSpending(kind) ? payment : undefined
  const isRevenue = payment?.sellerAccountId === accountId
  const subjects = [null, payment?.merchantDomain ?? null, isRevenue, spent?.category ?? null] as const
  return { subjects, agentId: spent?.agentId }
}

/** What to add up: the parts of an account up to this one. */
export interface AddUpCall {
  readonly accountId: string
  readonly upToId: string
  readonly limit: number
}

/** Adds parts to the sums of an account; returns their number. */
export const addUpActivity = operation<AddUpCall, number>('addUpActivity', {
  reads: (call) => [partsIn(call)],

  decide(call, facts) {
    const { accountId } = call
    const found = facts.rows(partsIn(call))
    const parts = mergeParts(found.flatMap((row) => row.parts))
    return {
      outcome: found.length,
      changes: [
        ...found.map((row) => remove(activityParts, row)),
        ...sellersPaidIn(parts).map((seller) => add(paidSellers, { accountId, ...seller })),
        ...sumsOfParts(parts).map((sum) => add(activity, { accountId, ...sum })),
      ],
    }
  },
})

function partsIn({ accountId, upToId: upTo, limit }: AddUpCall) {
  return range(activityParts, { where: { accountId }, orderBy: 'id', upTo, limit, isLocked: true })
}
