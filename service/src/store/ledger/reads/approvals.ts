import type { ApprovalStatus } from '@purser/wire/approvals'

import { subjectOf } from '../../../domain/subjects.ts'
import type { RecordKey, StoreReads } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { isKnownBy } from '../operations/approvals.ts'
import {
  activityParts,
  approvals,
  knownSellers,
  mandates,
  openApprovals,
  paidSellers,
  payments,
} from '../tables.ts'
import { listPage } from './pages.ts'
import { findRow, findRows, from, id, ids, inScope, ofAccount } from './rows.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** How many approvals one page of a status reads at most. */
const maxLookedAt = 2_000

/** Max domains that are known from the start when first purchases begin to need approval. */
const maxDomains = 1_000

/** Approvals, and what they depend on. */
export function prepareApprovalReads(db: Reader) {
  return {
    findApproval: (key) => findRow(db, approvals, sql`${inScope(key)} and id = ${id('approval', key.id)}`),

    listApprovals(scope, { mandateId, agentId, status, nowMs }, page) {
      const conditions = [inScope(scope)]
      if (mandateId !== undefined) conditions.push(sql`mandate_id = ${id('mandate', mandateId)}`)
      if (agentId !== undefined) conditions.push(sql`agent_id = ${id('agent', agentId)}`)
      // The open ones are few, and have a separate table.
      if (status === 'pending') {
        const pending = sql`select id from ${from(openApprovals)} where ${inScope(scope)} and status = 'pending'`
        conditions.push(sql`id in (${pending})`)
      }
      const where = sql.join(conditions, sql` and `)
      const fits = status && hasStatus(status, nowMs)
      return listPage(db, { table: approvals, where, fits, maxLookedAt, toItem: (row) => row }, page)
    },

    async isKnownSeller(mandate, { resourceUrl, issuedAtMs }) {
      const subject = subjectOf('seller', resourceUrl)
      const seller = await findRow(db, knownSellers, sql`${ofMandate(mandate)} and subject = ${subject}`)
      if (!seller?.nonces?.length) return seller?.nonces === null
      const row = await findRow(db, mandates, sql`${inScope(mandate)} and id = ${id('mandate', mandate.id)}`)
      const named = sql`${ofAccount(mandate.accountId)} and nonce in (${ids('nonce', seller.nonces)})`
      return row !== undefined && isKnownBy(await findRows(db, payments, named), row, issuedAtMs)
    },

    async listPaidDomains(mandate) {
      const kept = await findRows(db, paidSellers, sql`${ofMandate(mandate)} limit ${sql.lit(maxDomains)}`)
      const waiting = await findRows(db, activityParts, ofAccount(mandate.accountId))
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

/** Approvals with a status at a time, as `approvalStatusAt` has it. */
function hasStatus(status: ApprovalStatus, nowMs: number): Sql {
  const canExpire = sql`(status = 'pending' or (status = 'approved' and kind = 'payment'))`
  if (status === 'expired') return sql`${canExpire} and expires_at_ms <= ${nowMs}`
  return sql`status = ${status} and not (${canExpire} and expires_at_ms <= ${nowMs})`
}
