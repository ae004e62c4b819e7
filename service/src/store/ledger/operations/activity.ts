import {
  halvesOf,
  isOfOtherAccount,
  isSpending,
  quarterMs,
  sumOfHalves,
  mergeParts,
  PartSums,
  sellersPaidIn,
  sumsOfParts,
  type ActivityPart,
  type ActivitySum,
} from '../activity.ts'
import type { NetChange } from '../driver.ts'
import {
  lock,
  look,
  put,
  range,
  remove,
  unchanged,
  type Change,
  type Facts,
  type Operation,
} from '../operation.ts'
import { keyText } from '../table.ts'
import {
  activity,
  activityParts,
  entries,
  evaluations,
  paidSellers,
  payments,
  type ActivityPartsRow,
  type EntryRow,
  type EvaluationRow,
  type PaidSellerRow,
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
export const addUpActivity: Operation<AddUpCall, number> = {
  name: 'addUpActivity',

  reads: (call) => [partsIn(call)],

  decide(call, facts) {
    const found = facts.rows(partsIn(call))
    if (found.length === 0) return unchanged(0)
    const changes: Change[] = found.map((row) => remove(activityParts, row))
    const { sellers, sums } = additionsOf(call, facts)
    facts.read([
      ...sellers.map((seller) => look(paidSellers, seller)),
      ...sums.map((sum) => lock(activity, keyOf(call, sum))),
    ])
    for (const seller of sellers) {
      if (!facts.row(paidSellers, seller)) changes.push(put(paidSellers, seller))
    }
    for (const added of sums) {
      const key = keyOf(call, added)
      const kept = facts.row(activity, key)
      const paid = halvesOf(sumOfHalves(kept?.paidHigh ?? 0, kept?.paidLow ?? 0) + added.paidMicro)
      const refundedBefore = sumOfHalves(kept?.refundedHigh ?? 0, kept?.refundedLow ?? 0)
      const refunded = halvesOf(refundedBefore + added.refundedMicro)
      changes.push(
        put(activity, {
          ...key,
          paidCount: (kept?.paidCount ?? 0) + added.paidCount,
          paidHigh: paid.high,
          paidLow: paid.low,
          approvedCount: (kept?.approvedCount ?? 0) + added.approvedCount,
          deniedCount: (kept?.deniedCount ?? 0) + added.deniedCount,
          refundedCount: (kept?.refundedCount ?? 0) + added.refundedCount,
          refundedHigh: refunded.high,
          refundedLow: refunded.low,
        }),
      )
    }
    return { outcome: found.length, changes }
  },
}

/** What some rows add to the sums. */
interface Additions {
  readonly rows: readonly ActivityPartsRow[]
  readonly sellers: readonly PaidSellerRow[]
  readonly sums: readonly ActivitySum[]
}

/** The facts found for each call, which are used several times. */
const latestAdditions = new WeakMap<AddUpCall, Additions>()

function additionsOf(call: AddUpCall, facts: Facts): Additions {
  const rows = facts.rows(partsIn(call))
  const latest = latestAdditions.get(call)
  if (latest?.rows.length === rows.length && latest.rows.every((row, index) => row === rows[index])) {
    return latest
  }
  const parts = mergeParts(rows.flatMap((row) => row.parts))
  const sellers = sellersPaidIn(parts)
    .map((seller) => ({ key: keyText(paidSellers, { accountId: '', ...seller }), seller }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ seller }) => ({ accountId: call.accountId, ...seller }))
  const additions = { rows, sellers, sums: sumsOfParts(parts) }
  latestAdditions.set(call, additions)
  return additions
}

function keyOf({ accountId }: AddUpCall, { environment, dimension, subject, startsAtMs }: ActivitySum) {
  return { accountId, environment, dimension, subject, startsAtMs }
}

function partsIn({ accountId, upToId: upTo, limit }: AddUpCall) {
  return range(activityParts, { where: { accountId }, orderBy: 'id', upTo, limit, isLocked: true })
}
