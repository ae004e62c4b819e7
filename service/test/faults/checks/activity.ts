import type { Complain } from '../complaint.ts'
import type { Dossier } from '../dossier.ts'
import type { ActivitySumContent, JournalContent } from '../history.ts'

/** The console's sums equal those of the journal, and it knows every paid seller. */
export function checkActivity({ content: { activity } }: Dossier, complain: Complain): void {
  if (!activity) return
  const { journal, sums, paidSellers } = activity
  const expected = addUp(journal.flatMap(sumsOf))
  const found = addUp(sums)
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    const [sum, inJournal] = [found.get(name) ?? nothing, expected.get(name) ?? nothing]
    if (amounts.every((amount) => sum[amount] === inJournal[amount])) continue
    complain('sums differ', name, `the console has ${textOf(sum)}, the journal ${textOf(inJournal)}`)
  }
  const paid = journal.filter(({ kind }) => kind === 'paid')
  const sellers = paid.map(({ accountId, mandateId, domain }) => `${accountId} ${mandateId} ${domain}`)
  const known = new Set(paidSellers)
  for (const seller of new Set(sellers)) {
    if (!known.has(seller)) complain('record lost', seller, 'it was paid, and the console does not know')
    known.delete(seller)
  }
  for (const seller of known) complain('record unexplained', seller, 'it was never paid')
}

const quarterMs = 15 * 60_000
const dayMs = 24 * 60 * 60_000

/** What an entry of the journal adds to the sums. */
function sumsOf(entry: JournalContent): ActivitySumContent[] {
  const { accountId, environment, kind, mandateId, amountMicro, count, atMs, reason, domain } = entry
  const isPaid = kind === 'paid' || kind === 'received'
  const isRefunded = kind === 'refunded' || kind === 'refund_sent'
  const isOfOther = kind === 'received' || kind === 'refund_sent'
  const startsAtMs = Math.floor(atMs / quarterMs) * quarterMs
  const sum = {
    accountId,
    environment,
    startsAtMs,
    paidCount: isPaid ? count : 0,
    paidMicro: isPaid ? amountMicro : 0n,
    approvedCount: kind === 'approved' ? count : 0,
    deniedCount: kind === 'denied' || kind === 'more_denied' ? count : 0,
    refundedCount: isRefunded ? count : 0,
    refundedMicro: isRefunded ? amountMicro : 0n,
  }
  const sums: ActivitySumContent[] = []
  if (!isOfOther) sums.push({ ...sum, dimension: 'all', subject: '' })
  if (!isOfOther && mandateId !== null) {
    sums.push({ ...sum, dimension: 'mandate', subject: mandateId })
  }
  if (kind === 'denied' && reason !== null) sums.push({ ...sum, dimension: 'reason', subject: reason })
  // What a list shows, in total and by domain.
  if (kind !== 'more_denied') sums.push({ ...sum, dimension: 'domain', subject: '' })
  if (kind !== 'more_denied' && domain !== null) sums.push({ ...sum, dimension: 'domain', subject: domain })
  if (kind === 'paid' || kind === 'refunded') {
    const { agentId, category } = entry
    for (const [dimension, subject] of Object.entries({ agent: agentId, payee: domain, category })) {
      if (subject === null) continue
      const day = Math.floor(atMs / dayMs) * dayMs
      sums.push({ ...sum, dimension, subject })
      sums.push({ ...sum, dimension: `${dimension}_day`, subject, startsAtMs: day })
    }
  }
  if ((isPaid || isRefunded) && entry.isRevenue && domain !== null) {
    const day = Math.floor(atMs / dayMs) * dayMs
    sums.push({ ...sum, dimension: 'seller', subject: domain, startsAtMs: day })
    sums.push({ ...sum, dimension: 'seller_total', subject: domain, startsAtMs: 0 })
  }
  return sums
}

/** The sums with the same name added up. */
function addUp(sums: readonly ActivitySumContent[]): Map<string, Amounts> {
  const byName = new Map<string, Amounts>()
  for (const sum of sums) {
    const { accountId, environment, dimension, subject, startsAtMs } = sum
    const name = `${accountId} ${environment} ${dimension} ${subject} ${startsAtMs}`
    const total = byName.get(name)
    if (!total) byName.set(name, { ...sum })
    else {
      total.paidMicro += sum.paidMicro
      total.refundedMicro += sum.refundedMicro
      total.paidCount += sum.paidCount
      total.approvedCount += sum.approvedCount
      total.deniedCount += sum.deniedCount
      total.refundedCount += sum.refundedCount
    }
  }
  return byName
}

type Amounts = {
  -readonly [
    Name in keyof ActivitySumContent as Name extends `${string}${'Micro' | 'Count'}` ? Name : never
  ]: ActivitySumContent[Name]
}

const nothing: Readonly<Amounts> = {
  paidMicro: 0n,
  refundedMicro: 0n,
  paidCount: 0,
  approvedCount: 0,
  deniedCount: 0,
  refundedCount: 0,
}
const amounts = Object.keys(nothing) as (keyof Amounts)[]

function textOf(sum: Readonly<Amounts>): string {
  return amounts.map((amount) => sum[amount]).join(' ')
}
