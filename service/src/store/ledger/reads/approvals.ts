import type { ApprovalStatus } from '@purser/wire/approvals'

import { subjectOf } from '../../../domain/subjects.ts'
import type { RecordKey, StoreReads } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { isAlive } from '../operations/approvals.ts'
import {
  activityParts,
  approvals,
  knownSellers,
  mandates,
  openApprovals,
  paidSellers,
  payments,
} from '../tables.ts'
import { readBudgetsOf } from './ended-payments.ts'
import { listRows } from './pages.ts'
import { findRecord, findRow, findRows, from, id, ids, inScope, ofAccount } from './rows.ts'
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

    async isKnownSeller(mandate, { resourceUrl, issuedAtMs }) {
      const subject = subjectOf('seller', resourceUrl)
      const seller = await findRow(db, knownSellers, sql`${ofMandate(mandate)} and subject = ${subject}`)
      if (!seller?.nonces?.length) return seller?.nonces === null
      const row = await findRecord(db, mandates, mandate)
      const named = sql`${ofAccount(mandate.accountId)} and nonce in (${ids('nonce', seller.nonces)})`
      if (!row) return false
      const found = await findRows(db, payments, named)
      const { agent, facts } = await readBudgetsOf(db, row, found)
      return found.some((payment) => isAlive(payment, { mandate: row, agent }, issuedAtMs, facts))
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

/** Approvals with a status at a time, as `approvalStatusAt` returns it. */
function hasStatus(status: ApprovalStatus, nowMs: number): Sql {
  const canExpire = sql`(status = 'pending' or (status = 'approved' and kind = 'payment'))`
  if (status === 'expired') return sql`${canExpire} and expires_at_ms <= ${nowMs}`
  return sql`status = ${status} and not (${canExpire} and expires_at_ms <= ${nowMs})`
}
