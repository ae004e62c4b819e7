import type { ApprovalStatus } from '@purser/wire/approvals'

import type { RecordKey, StoreReads } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { activityParts, approvals, openApprovals, paidSellers } from '../tables.ts'
import { listRows } from './pages.ts'
import { findRecord, findRows, from, id, inScope, ofAccount } from './rows.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** How many approvals one page of a status reads at most. */
const maxLookedAt = 2_000

/** Max domains that are known from the start when first purchases begin to need approval. */
const maxDomains = 1_000

/** Approvals, and what they depend on. */
export function prepareApprovalReads(db: Reader) {
  return {
    findApproval: (key) => findRecord(db, approvals, key),

    listApprovals(scope, { mandateId, agentId, status, nowMs }, page) {
      const where = sql.and(
        inScope(scope),
        mandateId !== undefined && sql`mandate_id = ${id('mandate', mandateId)}`,
        agentId !== undefined && sql`agent_id = ${id('agent', agentId)}`,
        // The open ones are few, and have a separate table.
        status === 'pending' &&
          sql`id in (select id from ${from(openApprovals)} where ${inScope(scope)} and status = 'pending')`,
      )
      const fits = status && hasStatus(status, nowMs)
      return listRows(db, { table: approvals, where, fits, maxLookedAt }, page)
    },

    async listPaidDomains(mandate) {
      // First what has not been added up yet, so that what is added up between the two reads is in both.
      const waiting = await findRows(db, activityParts, ofAccount(mandate.accountId))
      const kept = await findRows(db, paidSellers, sql`${ofMandate(mandate)} limit ${sql.lit(maxDomains)}`)
      const parts: readonly ActivityPart[] = waiting.flatMap((row) => row.parts)
      const paid = sellersPaidIn(parts).filter(({ mandateId }) => mandateId === mandate.id)
      const domains = new Set([...kept, ...paid].map(({ merchantDomain }) => merchantDomain))
      return [...domains].slice(0, maxDomains)
    },
  } satisfies Partial<StoreReads>
}

function ofMandate({ accountId, id: mandateId }: Pick<RecordKey, 'accountId' | 'id'>): Sql {
  return sql`${ofAccount(accountId)} and mandate_id = ${id('mandate', mandateId)}`
}

/** Approvals with a status at a time, as `approvalStatusAt` returns it. */
function hasStatus(status: ApprovalStatus, nowMs: number): Sql {
  const canExpire = sql`(status = 'pending' or (status = 'approved' and kind = 'payment'))`
  if (status === 'expired') return sql`${canExpire} and expires_at_ms <= ${nowMs}`
  return sql`status = ${status} and not (${canExpire} and expires_at_ms <= ${nowMs})`
}
