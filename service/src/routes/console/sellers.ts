import { listConsoleSellers, type SellerSummary } from '@purser/wire/console/sellers'
import { verificationFailures } from '@purser/wire/payments'

import { formatSigned } from '../../domain/money.ts'
import { dayMs, dayStart } from '../../domain/buckets.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { answerPage } from '../../http/pagination.ts'
import type { Serve } from '../../http/serve.ts'
import type { Activity } from '../../store/console/store.ts'
import { toTimestamp, type RouteContext } from '../context.ts'
import { toWire as toWireSeller } from '../sellers.ts'

export function serveConsoleSellers(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): void {
  serve(listConsoleSellers, ({ caller, query, url }) => {
    const fromMs = dayStart(timeIn(caller, now) - 30 * dayMs)
    return answerPage(
      query,
      url,
      async (page) => {
        const { items, next } = await store.listSellers(caller, page)
        const subjects = items.map(({ domain }) => domain)
        const [totals, latest, failures] = await Promise.all([
          store.readActivity(caller, { dimension: 'seller_total', subjects, fromMs: 0 }),
          store.readActivity(caller, { dimension: 'seller', subjects, fromMs, isTotal: true }),
          store.readRefusals(caller, { subjects, fromMs }),
        ])
        const summaries = items.map((seller): SellerSummary => {
          const isOwn = ({ subject }: { readonly subject: string }) => subject === seller.domain
          const total = totals.find(isOwn)
          return {
            ...toWireSeller(seller),
            paid_count: total?.paidCount ?? 0,
            revenue_total: revenueOf(total),
            last_month_starts_at: toTimestamp(fromMs),
            revenue_last_month: revenueOf(latest.find(isOwn)),
            failures_last_month: verificationFailures.flatMap((reason) => {
              const count = failures.find((one) => isOwn(one) && one.reason === reason)?.count ?? 0
              return count > 0 ? [{ reason, count }] : []
            }),
          }
        })
        return { items: summaries, next }
      },
      (summary) => summary,
    )
  })
}

function revenueOf(sum: Activity | undefined): string {
  return formatSigned((sum?.paidMicro ?? 0n) - (sum?.refundedMicro ?? 0n))
}
