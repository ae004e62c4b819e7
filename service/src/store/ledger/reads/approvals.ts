import type { ApprovalStatus } from '@purser/wire/approvals'

import type { Approval } from '../../../domain/approval.ts'
import type { Scope } from '../../../domain/records.ts'
import { subjectOf } from '../../../domain/subjects.ts'
import type { ApprovalFilter, Page, PageOf, RecordKey } from '../../store.ts'
import { sellersPaidIn, type ActivityPart } from '../activity.ts'
import { isKnownBy } from '../operations/approvals.ts'
import type { Table, TableRow } from '../table.ts'
import {
  activityParts,
  approvals,
  knownSellers,
  mandates,
  openApprovals,
  paidSellers,
  payments,
} from '../tables.ts'
import { boundOf, columnsOf, findRows, idFrom, idOf, tableOf, type ReadDialect } from './dialect.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** How many approvals one page of a status reads at most. */
const maxLookedAt = 2_000

/** Max domains that are known from the start when first purchases begin to need approval. */
const maxDomains = 1_000

/** Approvals, and what they depend on. */
export function prepareApprovalReads(db: Reader, dialect: ReadDialect) {
  const from = (table: Table) => tableOf(dialect, table)
  const inScope = ({ accountId, environment }: Scope) =>
    sql`account_id = ${idOf(dialect, 'account', accountId)} and environment = ${environment}`
  const ofMandate = ({ accountId, id }: Pick<RecordKey, 'accountId' | 'id'>) =>
    sql`account_id = ${idOf(dialect, 'account', accountId)} and mandate_id = ${idOf(dialect, 'mandate', id)}`

  return {
    async findApproval(key: RecordKey): Promise<Approval | undefined> {
      const [row] = await findRows(
        db,
        approvals,
        sql`select ${columnsOf(approvals)} from ${from(approvals)}
          where ${inScope(key)} and id = ${idOf(dialect, 'approval', key.id)}`,
      )
      return row
    },

    async listApprovals(scope: Scope, filter: ApprovalFilter, page: Page): Promise<PageOf<Approval>> {
      const { mandateId, agentId, status } = filter
      const conditions = [inScope(scope)]
      if (mandateId !== undefined) conditions.push(sql`mandate_id = ${idOf(dialect, 'mandate', mandateId)}`)
      if (agentId !== undefined) conditions.push(sql`agent_id = ${idOf(dialect, 'agent', agentId)}`)
      if (page.olderThan !== undefined)
        conditions.push(sql`id < ${boundOf(dialect, 'approval', page.olderThan)}`)
      // The open ones are few, and have a separate table.
      if (status === 'pending') conditions.push(isPending(scope))
      const limit = status === undefined || status === 'pending' ? page.limit + 1 : maxLookedAt
      const latest = sql`select ${columnsOf(approvals)} from ${from(approvals)}
        where ${sql.join(conditions, sql` and `)} order by id desc limit ${sql.lit(limit)}`
      const found: readonly TableRow<typeof approvals>[] = await findRows(
        db,
        approvals,
        status === undefined
          ? latest
          : sql`select * from (${latest}) looked_at where ${hasStatus(status, filter.nowMs)}
              order by id desc limit ${sql.lit(page.limit + 1)}`,
      )
      const items = found.slice(0, page.limit)
      if (found.length > page.limit) return { items, next: items.at(-1)?.id }
      if (limit !== maxLookedAt) return { items, next: undefined }
      const { rows } = await sql<{ id: unknown }>`
        select id from (${latest}) looked_at order by id desc limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(
        db,
      )
      return { items, next: rows[0] && idFrom('approval', rows[0].id) }
    },

    async isKnownSeller(
      mandate: RecordKey,
      { resourceUrl, issuedAtMs }: { readonly resourceUrl: string; readonly issuedAtMs: number },
    ): Promise<boolean> {
      const subject = subjectOf('seller', resourceUrl)
      const [seller] = await findRows(
        db,
        knownSellers,
        sql`select ${columnsOf(knownSellers)} from ${from(knownSellers)}
          where ${ofMandate(mandate)} and subject = ${subject}`,
      )
      if (!seller?.nonces?.length) return seller?.nonces === null
      const [row] = await findRows(
        db,
        mandates,
        sql`select ${columnsOf(mandates)} from ${from(mandates)}
          where ${inScope(mandate)} and id = ${idOf(dialect, 'mandate', mandate.id)}`,
      )
      const nonces = seller.nonces.map((nonce) => sql`${idOf(dialect, 'nonce', nonce)}`)
      const found = await findRows(
        db,
        payments,
        sql`select ${columnsOf(payments)} from ${from(payments)}
          where account_id = ${idOf(dialect, 'account', mandate.accountId)} and nonce in (${sql.join(nonces)})`,
      )
      return row !== undefined && isKnownBy(found, row, issuedAtMs)
    },

    async listPaidDomains(mandate: RecordKey): Promise<string[]> {
      const { rows } = await sql<{ merchant_domain: string }>`
        select merchant_domain from ${from(paidSellers)} where ${ofMandate(mandate)}
        limit ${sql.lit(maxDomains)}`.execute(db)
      const { rows: waiting } = await sql<{ parts: string }>`
        select parts from ${from(activityParts)}
        where account_id = ${idOf(dialect, 'account', mandate.accountId)}`.execute(db)
      const parts = waiting.flatMap(({ parts: text }) => JSON.parse(text) as readonly ActivityPart[])
      const paid = sellersPaidIn(parts).filter(({ mandateId }) => mandateId === mandate.id)
      const domains = [...rows.map((row) => row.merchant_domain), ...paid.map((one) => one.merchantDomain)]
      return [...new Set(domains)].slice(0, maxDomains)
    },
  }

  function isPending({ accountId, environment }: Scope): Sql {
    return sql`id in (select o.id from ${from(openApprovals)} o
      where o.account_id = ${idOf(dialect, 'account', accountId)} and o.environment = ${environment}
        and o.status = 'pending')`
  }
}

/** Approvals with a status at a time, as `approvalStatusAt` has it. */
function hasStatus(status: ApprovalStatus, nowMs: number): Sql {
  const canExpire = sql`(status = 'pending' or (status = 'approved' and kind = 'payment'))`
  if (status === 'expired') return sql`${canExpire} and expires_at_ms <= ${nowMs}`
  return sql`status = ${status} and not (${canExpire} and expires_at_ms <= ${nowMs})`
}
