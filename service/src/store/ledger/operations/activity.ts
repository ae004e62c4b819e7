import {
  isOfOtherAccount,
  mergeParts,
  quarterMs,
  sellersPaidIn,
  sumsOfParts,
  type ActivityPart,
} from '../activity.ts'
import type { NetChange } from '../driver.ts'
import { add, operation, range, remove } from '../operation.ts'
import type { Row } from '../table.ts'
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
  /** What the entries are about, by the nonces of payments and the ids of evaluations. */
  const known = new Map<unknown, Row>()
  const added: EntryRow[] = []
  for (const { table, before, now } of changes) {
    if (!now) continue
    if (table === payments) known.set(now['nonce'], now)
    else if (table === evaluations) known.set(now['id'], now)
    else if (table === entries && !before) added.push(now as EntryRow)
  }
  return [...Map.groupBy(added, ({ accountId }) => accountId)].map(([accountId, own]) => ({
    table: activityParts,
    before: undefined,
    // No other batch adds the same entry.
    now: { accountId, id: own[0]!.id, parts: mergeParts(own.map((entry) => partOf(entry, known))) },
  }))
}

/** What an entry adds to the sums; it is written together with its payment or its evaluation. */
function partOf(entry: EntryRow, known: ReadonlyMap<unknown, Row>): ActivityPart {
  const { accountId, id, environment, kind, nonce, mandateId, amountMicro, count, atMs } = entry
  const head = [environment, atMs - (atMs % quarterMs), kind] as const
  if (nonce === null) {
    // Denials that are only counted have no evaluation. None of these has moved any money.
    const evaluation = known.get(id) as EvaluationRow | undefined
    const { reasonCode = null, merchantDomain = null } = evaluation ?? {}
    return [...head, reasonCode, merchantDomain, false, [[mandateId ?? '', count, '0']]]
  }
  const { merchantDomain, sellerAccountId, agentId, category } = known.get(nonce) as PaymentRow
  const paid = [...head, null, merchantDomain, sellerAccountId === accountId] as const
  const micro = String(amountMicro)
  if (isOfOtherAccount(kind)) return [...paid, [['', count, micro]]]
  const mandates = [[mandateId ?? '', count, micro, agentId]] as const
  return category === null ? [...paid, mandates] : [...paid, mandates, category]
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
