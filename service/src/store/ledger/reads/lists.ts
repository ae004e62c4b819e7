import { idsFrom, timeOfNonce } from '../../../domain/id-time.ts'
import { holdGraceMs, validityWindowMs } from '../../../domain/proof.ts'
import type { Agent, Budget, Hold, Mandate, Metadata, Scope } from '../../../domain/records.ts'
import { sessionIdleMs } from '../../../domain/session.ts'
import type { IdKind } from '../../../domain/type-id.ts'
import type { ConsoleReads, SessionKey, StoredSession } from '../../console/store.ts'
import type {
  AgentFilter,
  MandateListFilter,
  MandateVersion,
  OwnDomain,
  Page,
  PageOf,
  RecordKey,
  VersionPage,
} from '../../store.ts'
import { identityOf } from '../operations/accounts.ts'
import type { Table, TableRow } from '../table.ts'
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
  type MandateUsage,
} from '../tables.ts'
import { clockSlackMs } from './transactions.ts'
import {
  boundOf,
  columnsOf,
  findRows,
  idFrom,
  idOf,
  rowOf,
  tableOf,
  valueOf,
  type ReadDialect,
} from './dialect.ts'
import {
  toAccount,
  toAgent,
  toApiKey,
  toBudget,
  toHold,
  toListedSeller,
  toMandate,
  toSession,
} from './records.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** How many mandates a page with a filter reads. */
const maxMandatesLookedAt = 1_000

/** How long after its nonce was created a payment may be captured. */
const maxProofLifeMs = validityWindowMs + holdGraceMs

/** Records by their keys, and their lists, newest first. */
export function prepareRecordReads(db: Reader, dialect: ReadDialect) {
  const id = (kind: IdKind | 'nonce', text: string) => idOf(dialect, kind, text)
  const from = (table: Table) => tableOf(dialect, table)

  async function findOne<Of extends Table>(table: Of, where: Sql) {
    const statement = sql`select ${columnsOf(table)} from ${from(table)} where ${where} limit 1`
    const [row] = await findRows(db, table, statement)
    return row
  }

  /** The rows of a page, and one more if there is a next page. Ids sort by time, so newest first is by id. */
  async function takePage<Of extends Table>(
    table: Of,
    kind: IdKind,
    where: Sql,
    { limit, olderThan }: Page,
  ): Promise<TableRow<Of>[]> {
    const older = olderThan === undefined ? sql`` : sql`and id < ${boundOf(dialect, kind, olderThan)}`
    return findRows(
      db,
      table,
      sql`select ${columnsOf(table)} from ${from(table)} where ${where} ${older}
        order by id desc limit ${sql.lit(limit + 1)}`,
    )
  }

  const inScope = ({ accountId, environment }: Scope) =>
    sql`account_id = ${id('account', accountId)} and environment = ${environment}`

  async function sellersOf(scope: Scope, where: Sql, limit: number) {
    const { rows } = await sql<RegisteredRow>`
      select ${columnsOf(sellers, 's')}, d.seller_id as registered_id from ${from(sellers)} s
        left join ${from(sellerDomains)} d on d.environment = s.environment and d.domain = s.domain
      where s.account_id = ${id('account', scope.accountId)} and s.environment = ${scope.environment} ${where}
      limit ${sql.lit(limit)}`.execute(db)
    return rows.map((row) =>
      toListedSeller(
        rowOf(sellers, row),
        row.registered_id === null ? null : idFrom('seller', row.registered_id),
      ),
    )
  }

  return {
    async isEmpty(): Promise<boolean> {
      const { rows } = await sql`select 1 from ${from(accounts)} limit 1`.execute(db)
      return rows.length === 0
    },

    async findAgent(key: RecordKey): Promise<Agent | undefined> {
      const row = await findOne(agents, sql`${inScope(key)} and id = ${id('agent', key.id)}`)
      return row && toAgent(row)
    },

    async findMandate(key: RecordKey): Promise<Mandate | undefined> {
      const row = await findOne(mandates, sql`${inScope(key)} and id = ${id('mandate', key.id)}`)
      return row && toMandate(row)
    },

    async listMandateVersions(
      { accountId, id: mandateId }: RecordKey,
      { limit, below }: VersionPage,
    ): Promise<MandateVersion[]> {
      const older = below === undefined ? sql`` : sql`and version < ${below}`
      return findRows(
        db,
        mandateVersions,
        sql`select ${columnsOf(mandateVersions)} from ${from(mandateVersions)}
          where account_id = ${id('account', accountId)} and mandate_id = ${id('mandate', mandateId)} ${older}
          order by version desc limit ${sql.lit(limit)}`,
      )
    },

    async findBudget(key: RecordKey): Promise<(Budget & { readonly children: number }) | undefined> {
      const row = await findOne(budgets, sql`${inScope(key)} and id = ${id('budget', key.id)}`)
      if (!row) return undefined
      const { rows } = await sql<{ children: unknown }>`
        select count(*) as children from ${from(budgets)}
        where ${inScope(key)} and parent_id = ${id('budget', key.id)}`.execute(db)
      return { ...toBudget(row), children: Number(rows[0]?.children) }
    },

    async listBudgets(scope: Scope, page: Page) {
      return pageOf(await takePage(budgets, 'budget', inScope(scope), page), page, toBudget)
    },

    async findProof({
      accountId,
      environment,
      nonce,
    }: Scope & { readonly nonce: string }): Promise<Hold | undefined> {
      const key = { accountId, environment, nonce }
      const own = await findPayment(key)
      if (own) return own
      const payerId = await findPayer(key)
      return payerId === undefined ? undefined : findPayment({ ...key, accountId: payerId })
    },

    async ownsDomain({ accountId, environment, domain }: OwnDomain): Promise<boolean> {
      const row = await findOne(sellerDomains, sql`environment = ${environment} and domain = ${domain}`)
      return row?.accountId === accountId
    },

    async listAccounts(page: Page) {
      return pageOf(await takePage(accounts, 'account', sql`1 = 1`, page), page, toAccount)
    },

    async listSessions({ accountId }: { readonly accountId: string }, nowMs: number, page: Page) {
      const where = sql`account_id = ${id('account', accountId)} and kind <> 'set_up_link'
        and ends_at_ms > ${nowMs} and used_at_ms > ${nowMs - sessionIdleMs} and ${hasWorkingKey(accountId)}`
      return pageOf(await takePage(sessions, 'session', where, page), page, toSession)
    },

    async listApiKeys({ accountId }: { readonly accountId: string }, page: Page) {
      const where = sql`account_id = ${id('account', accountId)}`
      return pageOf(await takePage(apiKeys, 'apiKey', where, page), page, toApiKey)
    },

    async listAgents(scope: Scope, { agentId }: AgentFilter, page: Page) {
      const own = agentId === undefined ? sql`` : sql`and id = ${id('agent', agentId)}`
      return pageOf(await takePage(agents, 'agent', sql`${inScope(scope)} ${own}`, page), page, toAgent)
    },

    async listMandates(scope: Scope, { agentId, metadata }: MandateListFilter, page: Page) {
      const own = agentId === undefined ? sql`` : sql`and agent_id = ${id('agent', agentId)}`
      const where = sql`${inScope(scope)} ${own}`
      if (!metadata) return pageOf(await takePage(mandates, 'mandate', where, page), page, toMandate)
      // Only some mandates match, so more are read than returned.
      const read = await takePage(mandates, 'mandate', where, { ...page, limit: maxMandatesLookedAt })
      const matching = read.slice(0, maxMandatesLookedAt).filter((row) => hasTexts(row.metadata, metadata))
      if (matching.length > page.limit) return pageOf(matching, page, toMandate)
      const last = read.length > maxMandatesLookedAt ? read[maxMandatesLookedAt - 1]?.id : undefined
      return { items: matching.map(toMandate), next: last }
    },

    async listSellers(scope: Scope, page: Page) {
      const older =
        page.olderThan === undefined ? sql`` : sql`and s.id < ${boundOf(dialect, 'seller', page.olderThan)}`
      const found = await sellersOf(scope, sql`${older} order by s.id desc`, page.limit + 1)
      return pageOf(found, page, (seller) => seller)
    },

    async findSeller({ domain, ...scope }: OwnDomain) {
      const [found] = await sellersOf(scope, sql`and s.domain = ${domain} order by s.id`, 1)
      return found
    },

    async findSellerById({ id: sellerId, ...scope }: RecordKey) {
      const [found] = await sellersOf(scope, sql`and s.id = ${id('seller', sellerId)}`, 1)
      return found
    },

    /** Who is signed in: asked with every request of the console. */
    async findSession({ accountId, tokenHash }: SessionKey): Promise<StoredSession | undefined> {
      const account = id('account', accountId)
      const { rows } = await sql<ClockRow>`
        select ${columnsOf(sessions, 's')}, a.clock_offset_ms from ${from(sessions)} s
          join ${from(accounts)} a on a.id = s.account_id and a.disabled_at_ms is null
        where s.account_id = ${account} and s.token_hash = ${tokenHash} and ${hasWorkingKey(accountId)}`.execute(
        db,
      )
      const [row] = rows
      if (!row) return undefined
      const session = toSession(rowOf(sessions, row))
      return row.clock_offset_ms === null
        ? session
        : { ...session, clockOffsetMs: Number(row.clock_offset_ms) }
    },

    async findAccount(account: Parameters<ConsoleReads['findAccount']>[0]) {
      const accountId = 'id' in account ? account.id : await accountOfUser(account)
      if (accountId === undefined) return undefined
      const row = await findOne(accounts, sql`id = ${id('account', accountId)}`)
      return row && toAccount(row)
    },
  }

  async function findPayment({
    accountId,
    environment,
    nonce,
  }: Scope & { readonly nonce: string }): Promise<Hold | undefined> {
    const { rows } = await sql<EpochRow>`
      select ${columnsOf(payments, 'p')}, m.epoch as epoch_now, m.usage from ${from(payments)} p
        join ${from(mandates)} m on m.account_id = p.account_id and m.id = p.mandate_id
      where p.account_id = ${id('account', accountId)} and p.nonce = ${id('nonce', nonce)}
        and p.environment = ${environment}`.execute(db)
    const [row] = rows
    if (!row) return undefined
    const hold = toHold(rowOf(payments, row), Number(row.epoch_now))
    if (hold.status !== 'open' || row.usage === null) return hold
    const isEnded = await isEndedByBudget(
      accountId,
      valueOf(mandates.columns.usage, row.usage) as MandateUsage,
    )
    return isEnded ? { ...hold, status: 'voided' } : hold
  }

  /** Whether a budget was frozen after the open payments of a mandate were booked in it. */
  async function isEndedByBudget(accountId: string, usage: MandateUsage): Promise<boolean> {
    const epochs = Object.entries(usage.budgets)
    if (epochs.length === 0) return false
    const ids = epochs.map(([budgetId]) => id('budget', budgetId))
    const rows = await findRows(
      db,
      budgets,
      sql`select ${columnsOf(budgets)} from ${from(budgets)}
        where account_id = ${id('account', accountId)} and id in (${sql.join(ids)})`,
    )
    return epochs.some(([budgetId, { epoch }]) => rows.find((one) => one.id === budgetId)?.epoch !== epoch)
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
    const [first, last] = [issuedAtMs - clockSlackMs, issuedAtMs + maxProofLifeMs + clockSlackMs]
    const { rows } = await sql<{ payer_id: unknown }>`
      select payer_id from ${from(authorizationPayers)}
      where account_id = ${id('account', accountId)} and nonce = ${id('nonce', nonce)}
      union all select payer_id from ${from(entries)}
      where account_id = ${id('account', accountId)} and id >= ${boundOf(dialect, 'transaction', idsFrom('txn', first))}
        and id < ${boundOf(dialect, 'transaction', idsFrom('txn', last))}
        and kind = 'received' and nonce = ${id('nonce', nonce)} limit 1`.execute(db)
    return rows[0] && idFrom('account', rows[0].payer_id)
  }

  async function accountOfUser(user: { readonly idpUserId: string }): Promise<string | undefined> {
    const row = await findOne(identities, sql`idp_user_id = ${identityOf(user).idpUserId}`)
    return row?.accountId
  }

  /** A session ends with its key. */
  function hasWorkingKey(accountId: string): Sql {
    return sql`(key_id is null or key_id in (
      select k.id from ${from(apiKeys)} k
      where k.account_id = ${id('account', accountId)} and k.revoked_at_ms is null))`
  }
}

type ClockRow = Readonly<Record<string, unknown>> & { readonly clock_offset_ms: unknown }
type EpochRow = Readonly<Record<string, unknown>> & { readonly epoch_now: unknown; readonly usage: unknown }
type RegisteredRow = Readonly<Record<string, unknown>> & { readonly registered_id: unknown }

function hasTexts(metadata: Metadata | null, wanted: Metadata): boolean {
  return Object.entries(wanted).every(([name, text]) => metadata?.[name] === text)
}

/** A page of the rows that were found; one row more than a page means that there is a next page. */
export function pageOf<Row extends { readonly id: string }, Item>(
  rows: readonly Row[],
  { limit }: Page,
  toItem: (row: Row) => Item,
): PageOf<Item> {
  const shown = rows.slice(0, limit)
  return { items: shown.map(toItem), next: rows.length > limit ? shown.at(-1)?.id : undefined }
}
