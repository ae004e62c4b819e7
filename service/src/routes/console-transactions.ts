import { Readable } from 'node:stream'

import {
  csvColumns,
  exportTransactions,
  getConsoleTransaction,
  listConsoleTransactions,
} from '@purser/wire/console-transactions'
import type { Environment } from '@purser/wire/fields'

import type { Scope } from '../domain/records.ts'
import { csvLine } from '../http/csv.ts'
import { ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../http/validation/date-time.ts'
import { createStreamSlots } from '../http/stream-slots.ts'
import { maxExports, maxExportsOfAccount } from '../limits.ts'
import type { ConsoleFilter } from '../store/console-store.ts'
import type { Store } from '../store/store.ts'
import { toTimestamp, type RouteContext } from './context.ts'
import { ladderOf } from './console-ladder.ts'
import { toWire as toWireProof } from './payments.ts'
import { toWire } from './transactions.ts'

/** How many transactions an export reads at once. */
const exportedAtOnce = 500

export function serveConsoleTransactions(
  serve: Serve,
  { store, now }: Pick<RouteContext, 'store' | 'now'>,
): void {
  const slots = createStreamSlots({ most: maxExports, mostOfAccount: maxExportsOfAccount })

  serve(listConsoleTransactions, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listConsoleTransactions(caller, filterOf(query), page), toWire),
  )

  serve(exportTransactions, async ({ caller, query, isStillLetIn }) => {
    const slot = slots.take(caller.accountId)
    if (!slot) return refuse('too_many_streams')
    const stream = Readable.from(exported(store, caller, { filter: filterOf(query), isStillLetIn }), {
      objectMode: false,
    })
    stream.once('close', slot.release)
    const name = `transactions-${caller.environment}-${toTimestamp(now()).slice(0, 10)}.csv`
    return {
      status: 200,
      body: undefined,
      stream,
      headers: {
        'content-type': 'text/csv; charset=utf-8; header=present',
        'content-disposition': `attachment; filename="${name}"`,
        'cache-control': 'no-store',
      },
    }
  })

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
      proof: hold ? toWireProof(hold, now()) : null,
    })
  })
}

interface FilterQuery {
  readonly environment?: Environment
  readonly agent_id?: string
  readonly mandate_id?: string
  readonly status?: ConsoleFilter['status']
  readonly merchant_domain?: string
  readonly reason_code?: string
  readonly created_from?: string
  readonly created_before?: string
}

function filterOf(query: FilterQuery): ConsoleFilter {
  return {
    agentId: query.agent_id,
    mandateId: query.mandate_id,
    status: query.status,
    merchantDomain: query.merchant_domain,
    reasonCode: query.reason_code,
    fromMs: query.created_from === undefined ? undefined : readDateTime(query.created_from),
    beforeMs: query.created_before === undefined ? undefined : readDateTime(query.created_before),
  }
}

/**
 * The lines of an export; each page is read when the one before it has been sent. Who reads slowly may not be let in any
 * more by then, and the export breaks off.
 */
async function* exported(
  store: Pick<Store, 'listConsoleTransactions'>,
  scope: Scope,
  reader: { readonly filter: ConsoleFilter; readonly isStillLetIn: () => Promise<boolean> },
): AsyncGenerator<string> {
  const { filter, isStillLetIn } = reader
  yield csvLine(csvColumns)
  let olderThan: string | undefined
  do {
    if (!(await isStillLetIn())) throw new Error('who reads the export is not let in any more')
    const { items, next } = await store.listConsoleTransactions(scope, filter, {
      limit: exportedAtOnce,
      olderThan,
    })
    if (items.length > 0) {
      yield items
        .map(toWire)
        .map((item) => csvLine(csvColumns.map((column) => item[column])))
        .join('')
    }
    olderThan = next
  } while (olderThan !== undefined)
}
