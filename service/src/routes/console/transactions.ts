import {
  exportTransactions,
  getConsoleTransaction,
  listConsoleTransactions,
  namedCsvColumns,
} from '@purser/wire/console/transactions'
import type { Static } from '@purser/wire/schema/type'

import { formatSum } from '../../domain/money.ts'
import type { Scope } from '../../domain/records.ts'
import { timeIn } from '../../domain/time/test-clock.ts'
import { ok, refuse } from '../../http/answers.ts'
import { answerPage } from '../../http/pagination.ts'
import type { Serve } from '../../http/serve.ts'
import { readDateTime } from '../../domain/time/date-time.ts'
import type { ConsoleFilter } from '../../store/console/store.ts'
import type { Page } from '../../store/store.ts'
import { toTimestamp, type RouteContext } from '../context.ts'
import { ladderOf } from './ladder.ts'
import type { AnswerExport } from '../csv-export.ts'
import { nameTransactions } from '../named-transactions.ts'
import { toWire as toWireProof } from '../payments.ts'
import { toWire } from '../transactions.ts'

export function serveConsoleTransactions(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
  answerExport: AnswerExport,
): void {
  serve(listConsoleTransactions, ({ caller, query, url }) =>
    answerPage(
      query,
      url,
      (page) => readNamed(caller, filterOf(query), page),
      (item) => item,
    ),
  )

  serve(exportTransactions, async ({ caller, query, isStillLetIn, takeTurn }) => {
    if ((query.environment ?? caller.environment) !== caller.environment)
      return refuse('environment_not_in_session')
    if ((query.account_id ?? caller.accountId) !== caller.accountId) return refuse('insufficient_scope')
    const filter = filterOf(query)
    const readPage = (page: Page) => readNamed(caller, filter, page)
    return answerExport({ caller, columns: namedCsvColumns, readPage, isStillLetIn, takeTurn })
  })

  async function readNamed(scope: Scope, filter: ConsoleFilter, page: Page) {
    const { items, next } = await store.listConsoleTransactions(scope, filter, page)
    return { items: await nameTransactions(store, scope, items), next }
  }

  serve(getConsoleTransaction, async ({ caller, params }) => {
    const decision = await store.findDecision({ ...caller, id: params.transaction_id })
    if (!decision) return refuse('not_found')
    const { transaction, isReceived, agent, mandate, hold } = decision
    return ok({
      transaction: toWire(transaction),
      agent_name: agent?.name ?? null,
      mandate_purpose: mandate?.purpose ?? null,
      checked_at: isReceived ? null : toTimestamp(hold?.issuedAtMs ?? transaction.createdAtMs),
      checks: isReceived ? [] : ladderOf(decision),
      proof: hold ? toWireProof(hold, timeIn(caller, now)) : null,
      refunds: decision.refunds.map(({ id, amountText, reason, createdAtMs }) => ({
        id,
        amount: amountText,
        reason,
        created_at: toTimestamp(createdAtMs),
      })),
      refundable: decision.refundableMicro === null ? null : formatSum(decision.refundableMicro),
    })
  })
}

function filterOf(query: Static<NonNullable<typeof exportTransactions.query>>): ConsoleFilter {
  return {
    agentId: query.agent_id,
    mandateId: query.mandate_id,
    status: query.status,
    merchantDomain: query.merchant_domain,
    direction: query.direction,
    reasonCode: query.reason_code,
    fromMs: query.created_from === undefined ? undefined : readDateTime(query.created_from),
    beforeMs: query.created_before === undefined ? undefined : readDateTime(query.created_before),
    metadata: query.metadata,
  }
}
