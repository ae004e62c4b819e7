import { timeOfNonce } from '../../../domain/id-time.ts'
import { maxProofLifeMs } from '../../../domain/proof.ts'
import type { Hold, Scope } from '../../../domain/records.ts'
import { sessionIdleMs } from '../../../domain/session.ts'
import type { ConsoleReads } from '../../console/store.ts'
import type { StoreReads } from '../../store.ts'
import { identityOf } from '../operations/accounts.ts'
import type { TableRow } from '../table.ts'
import {
  accounts,
  agents,
  apiKeys,
  authorizationPayers,
  budgets,
  entries,
  identities,
  mandates,
  mandateVersions,
  payments,
  sellerDomains,
  sellers,
  sessions,
} from '../tables.ts'
import { holdsOf } from './ended-payments.ts'
import { hasMetadata, type LedgerReader } from './ledger-reader.ts'
import { findListed, listPage, listRows } from './pages.ts'
import { toAccount, toAgent, toApiKey, toBudget, toMandate } from './records.ts'
import {
  clockSlackMs,
  columnsOf,
  countRows,
  findRecord,
  findRow,
  findRows,
  firstIdAt,
  from,
  hasKey,
  hasRows,
  id,
  idFrom,
  inScope,
  ofAccount,
  rowOf,
  type RawRow,
} from './rows.ts'
import { sql, type Sql } from '../../sql.ts'

/** How many mandates a page with a filter reads. */
const maxMandatesLookedAt = 1_000

/** Records by their keys, and their lists, newest first. */
export function prepareRecordReads(db: LedgerReader) {
  return {
    isEmpty: async () => !(await hasRows(db, accounts, sql`1 = 1`)),

    async findAgent(key) {
      const row = await findRecord(db, agents, key)
      return row && toAgent(row)
    },

    async findMandate(key) {
      const row = await findRecord(db, mandates, key)
      return row && toMandate(row)
    },

    listMandateVersions: ({ accountId, id: mandateId }, { limit, below }) =>
      findRows(
        db,
        mandateVersions,
        sql`${ofAccount(accountId)} and mandate_id = ${id('mandate', mandateId)}
          and ${sql.and(below !== undefined && sql`version < ${below}`)} order by version desc limit ${sql.lit(limit)}`,
      ),

    async findBudget(key) {
      const row = await findRecord(db, budgets, key)
      if (!row) return undefined
      const isChild = sql`${inScope(key)} and parent_id = ${id('budget', key.id)}`
      return { ...toBudget(row), children: await countRows(db, budgets, isChild) }
    },

    listBudgets: (scope, page) =>
      listPage(db, { table: budgets, where: inScope(scope), toItem: toBudget }, page),

    async findProof(key) {
      const own = await findPayment(key)
      if (own) return own
      const payerId = await findPayer(key)
      return payerId === undefined ? undefined : findPayment({ ...key, accountId: payerId })
    },

    async ownsDomain({ accountId, environment, domain }) {
      const registered = sql`environment = ${environment} and domain = ${domain}`
      return (await findRow(db, sellerDomains, registered))?.accountId === accountId
    },

    listAccounts: (page) => listPage(db, { table: accounts, where: sql`1 = 1`, toItem: toAccount }, page),

    listSessions({ accountId }, nowMs, page) {
      const where = sql`${ofAccount(accountId)} and kind <> 'set_up_link'
        and ends_at_ms > ${nowMs} and used_at_ms > ${nowMs - sessionIdleMs} and ${hasWorkingKey(accountId)}`
      return listRows(db, { table: sessions, where }, page)
    },

    listApiKeys: ({ accountId }, page) =>
      listPage(db, { table: apiKeys, where: ofAccount(accountId), toItem: toApiKey }, page),

    listAgents(scope, { agentId }, page) {
      const where = sql.and(inScope(scope), agentId !== undefined && sql`id = ${id('agent', agentId)}`)
      return listPage(db, { table: agents, where, toItem: toAgent }, page)
    },

    listMandates(scope, { agentId, metadata }, page) {
      const list = {
        table: mandates,
        where: sql.and(inScope(scope), agentId !== undefined && sql`agent_id = ${id('agent', agentId)}`),
        fits: metadata && hasMetadata(db, sql`metadata`, metadata),
        maxLookedAt: maxMandatesLookedAt,
        toItem: toMandate,
      }
      return listPage(db, list, page)
    },

    listSellers: ({ accountId, environment }, page) =>
      listPage(
        db,
        { ...listedSellers, where: ofAccount(accountId), fits: sql`environment = ${environment}` },
        page,
      ),
    findSeller: (key) =>
      findListed(db, { ...listedSellers, where: sql`${inScope(key)} and domain = ${key.domain}` }),
    findSellerById: (key) => findListed(db, { ...listedSellers, where: hasKey(sellers, key) }),

    /** Who is signed in: asked with every request of the console. */
    async findSession({ accountId, tokenHash }) {
      const { rows } = await sql<RawRow>`
        select ${columnsOf(sessions, 's')}, a.clock_offset_ms from ${from(sessions)} s
          join ${from(accounts)} a on a.id = s.account_id and a.disabled_at_ms is null
        where s.account_id = ${id('account', accountId)} and s.token_hash = ${tokenHash}
          and ${hasWorkingKey(accountId)}`.execute(db)
      const [row] = rows
      if (!row) return undefined
      const session = rowOf(sessions, row)
      const offset = row['clock_offset_ms']
      return offset === null ? session : { ...session, clockOffsetMs: Number(offset) }
    },

    async findAccount(account) {
      const accountId =
        'id' in account
          ? id('account', account.id)
          : sql`(select account_id from ${from(identities)} where idp_user_id = ${identityOf(account).idpUserId})`
      const row = await findRow(db, accounts, sql`id = ${accountId}`)
      return row && toAccount(row)
    },
  } satisfies Partial<StoreReads & ConsoleReads>

  async function findPayment({
    accountId,
    environment,
    nonce,
  }: Scope & { readonly nonce: string }): Promise<Hold | undefined> {
    const isOwn = sql`${inScope({ accountId, environment })} and nonce = ${id('nonce', nonce)}`
    const payment = await findRow(db, payments, isOwn)
    if (!payment) return undefined
    const mandate = await findRecord(db, mandates, { accountId, environment, id: payment.mandateId })
    return mandate && (await holdsOf(db, mandate, [payment]))[0]
  }

  /**
   * The account that made a payment which another account has authorized or collected. Without an
   * authorization, it was captured soon after its nonce was created, so only that range of the journal is
   * searched.
   */
  async function findPayer({
    accountId,
    nonce,
  }: Scope & { readonly nonce: string }): Promise<string | undefined> {
    const issuedAtMs = timeOfNonce(nonce)
    if (!Number.isSafeInteger(issuedAtMs)) return undefined
    const { rows } = await sql<{ payer_id: unknown }>`
      select payer_id from ${from(authorizationPayers)}
      where ${ofAccount(accountId)} and nonce = ${id('nonce', nonce)}
      union all select payer_id from ${from(entries)}
      where ${ofAccount(accountId)} and id >= ${firstIdAt(issuedAtMs - clockSlackMs)}
        and id < ${firstIdAt(issuedAtMs + maxProofLifeMs + clockSlackMs)}
        and kind = 'received' and nonce = ${id('nonce', nonce)} limit 1`.execute(db)
    return rows[0] && idFrom('account', rows[0].payer_id)
  }
}

/** A session ends with its key. */
function hasWorkingKey(accountId: string): Sql {
  return sql`(key_id is null or key_id in (
    select k.id from ${from(apiKeys)} k
    where k.account_id = ${id('account', accountId)} and k.revoked_at_ms is null))`
}

/** How sellers are listed, with the seller that is registered under the domain of each. */
const listedSellers = {
  table: sellers,
  more: sql`(
    select d.seller_id from ${from(sellerDomains)} d
    where d.environment = looked_at.environment and d.domain = looked_at.domain) as registered_id`,
  toItem(seller: TableRow<typeof sellers>, { registered_id: registered }: RawRow) {
    return { ...seller, isPending: registered === null || idFrom('seller', registered) !== seller.id }
  },
}
