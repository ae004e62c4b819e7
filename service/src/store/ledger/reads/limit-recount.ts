import { bucketAt, firstBucketAt, takeTally, type Limit, type Tally } from '../../../domain/limits.ts'
import { subjectOf } from '../../../domain/subjects.ts'
import type { LedgerFault } from '../../store.ts'
import type { BudgetRow, BudgetUsageRow, MandateRow, SubjectUsageRow } from '../tables.ts'

/** What limits count, and the payments that they count. */
export interface CountedRows {
  readonly mandates: readonly Pick<MandateRow, 'accountId' | 'id' | 'epoch' | 'limits' | 'usage'>[]
  readonly subjects: readonly SubjectUsageRow[]
  readonly budgets: readonly Pick<BudgetRow, 'accountId' | 'id' | 'limits'>[]
  readonly budgetUsage: readonly Pick<BudgetUsageRow, 'accountId' | 'budgetId' | 'bookedAtMs' | 'counted'>[]
  /** The payments of mandates that have usage. */
  readonly payments: readonly CountedPayments[]
}

/** Payments of one mandate that count in the same buckets: open ones of its epoch, or authorized and captured ones. */
export interface CountedPayments {
  readonly accountId: string
  readonly mandateId: string
  readonly isOpen: boolean
  /** The resource of all of them, if the mandate has limits per subject. */
  readonly resourceUrl: string
  readonly bookedAtMs: number
  readonly budgetPath: readonly string[] | null
  /** The amount they commit, without what they gave back. */
  readonly amountMicro: bigint
  readonly count: number
}

const faultOf = {
  own: 'a limit counts something else than its payments',
  subject: 'a limit per subject counts something else than its payments',
  budget: 'a limit of a shared budget counts something else than its payments',
  open: 'it counts other open payments in a shared budget than there are',
} as const

/** Every limit whose counts differ from its payments. */
export function recountLimits(rows: CountedRows): readonly LedgerFault[] {
  const payments = Map.groupBy(rows.payments, ({ accountId, mandateId }) => `${accountId} ${mandateId}`)
  const subjects = Map.groupBy(rows.subjects, ({ accountId, mandateId }) => `${accountId} ${mandateId}`)
  const ofMandates = rows.mandates.flatMap((mandate) => {
    const { accountId, id: subjectId } = mandate
    const own = payments.get(`${accountId} ${subjectId}`) ?? []
    const faults = new Set<string>()
    for (const limit of mandate.limits ?? []) {
      if (limit.per === null && !countsOwn(mandate, limit, own)) faults.add(faultOf.own)
      const stored = subjects.get(`${accountId} ${subjectId}`) ?? []
      if (limit.per !== null && !countsSubjects(mandate, limit, stored, own)) faults.add(faultOf.subject)
    }
    return [...faults].map((fault) => ({ accountId, subjectId, fault }))
  })
  return [...ofMandates, ...recountBudgets(rows)]
}

type CountedMandate = CountedRows['mandates'][number]

function countsOwn({ usage }: CountedMandate, limit: Limit, payments: readonly CountedPayments[]): boolean {
  if (!usage) return true
  const open = payments.filter(({ isOpen }) => isOpen)
  return (
    agrees(usage.counted, limit, payments, usage.bookedAtMs) &&
    agrees(usage.open, limit, open, usage.bookedAtMs)
  )
}

function countsSubjects(
  { usage, epoch }: CountedMandate,
  limit: Limit,
  rows: readonly SubjectUsageRow[],
  payments: readonly CountedPayments[],
): boolean {
  const { per } = limit
  if (!usage || per === null) return true
  const bySubject = Map.groupBy(payments, ({ resourceUrl }) => subjectOf(per, resourceUrl))
  // Subjects of the other kind have other limits.
  const stored = rows.filter(({ subject }) => subject.startsWith(per))
  const bySubjectRow = new Map(stored.map((row) => [row.subject, atEpoch(row, epoch)] as const))
  return [...new Set([...bySubject.keys(), ...bySubjectRow.keys()])].every((subject) => {
    const row = bySubjectRow.get(subject) ?? { counted: {}, open: {} }
    const own = bySubject.get(subject) ?? []
    const open = own.filter(({ isOpen }) => isOpen)
    return (
      agrees(row.counted, limit, own, usage.bookedAtMs) && agrees(row.open, limit, open, usage.bookedAtMs)
    )
  })
}

function recountBudgets(rows: CountedRows): readonly LedgerFault[] {
  const payments = Map.groupBy(
    rows.payments.flatMap((payment) => (payment.budgetPath ?? []).map((id) => ({ payment, id }))),
    ({ payment, id }) => `${payment.accountId} ${id}`,
  )
  const usages = new Map(rows.budgetUsage.map((row) => [`${row.accountId} ${row.budgetId}`, row]))
  const faults: LedgerFault[] = []
  const limitsOf = new Map<string, readonly Limit[]>()
  for (const { accountId, id, limits } of rows.budgets) {
    limitsOf.set(`${accountId} ${id}`, limits)
    const own = (payments.get(`${accountId} ${id}`) ?? []).map(({ payment }) => payment)
    const { bookedAtMs = 0, counted = {} } = usages.get(`${accountId} ${id}`) ?? {}
    const isRight = limits.every((limit) => agrees(counted, limit, own, bookedAtMs))
    if (!isRight) faults.push({ accountId, subjectId: id, fault: faultOf.budget })
  }
  for (const { accountId, id: mandateId, usage } of rows.mandates) {
    const isRight = Object.entries(usage?.budgets ?? {}).every(([id, { open }]) => {
      const own = (payments.get(`${accountId} ${id}`) ?? []).map(({ payment }) => payment)
      const openOnes = own.filter((one) => one.mandateId === mandateId && one.isOpen)
      const { bookedAtMs = 0 } = usages.get(`${accountId} ${id}`) ?? {}
      return (limitsOf.get(`${accountId} ${id}`) ?? []).every((limit) =>
        agrees(open, limit, openOnes, bookedAtMs),
      )
    })
    if (!isRight) faults.push({ accountId, subjectId: mandateId, fault: faultOf.open })
  }
  return faults
}

/** The counters of a subject. Counters of an earlier epoch drop their open part. */
function atEpoch({ counted, open, epoch }: SubjectUsageRow, mandateEpoch: number) {
  return epoch === mandateEpoch ? { counted, open } : { counted: takeTally(counted, open), open: {} }
}

/** Whether the buckets of a limit that still count are the sums of its payments. */
function agrees(
  tally: Tally,
  limit: Limit,
  payments: readonly CountedPayments[],
  lastBookedAtMs: number,
): boolean {
  const first = firstBucketAt(limit.window, lastBookedAtMs)
  const sums = new Map<number, { amountMicro: bigint; count: number }>()
  for (const [key, amount, count] of tally[limit.id] ?? []) {
    if (key >= first) sums.set(key, { amountMicro: -BigInt(amount), count: -count })
  }
  for (const { bookedAtMs, amountMicro, count } of payments) {
    const key = bucketAt(limit.window, bookedAtMs)
    if (key < first) continue
    const sum = sums.get(key) ?? { amountMicro: 0n, count: 0 }
    sums.set(key, { amountMicro: sum.amountMicro + amountMicro, count: sum.count + count })
  }
  return [...sums.values()].every(({ amountMicro, count }) => amountMicro === 0n && count === 0)
}
