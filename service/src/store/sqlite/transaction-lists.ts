import type { Scope, Transaction } from '../../domain/records.ts'
import { toTransaction, type TransactionRow } from '../rows.ts'
import type { Page, PageOf, TransactionFilter } from '../store.ts'
import type { SqliteDatabase } from './open.ts'

/** How many entries may wait in memory before each batch of payments writes some of them. */
const maxWaiting = 49_152
/** How many waiting entries a batch writes for each transaction of its own, which adds three. */
const writtenForEach = 6

/** How many written entries of a list are kept in memory before they are let go. */
const forgottenAtOnce = 1_024

/** What of a transaction says which lists it stands in. */
export type ListedTransaction = Pick<
  TransactionRow,
  'account_id' | 'id' | 'agent_id' | 'mandate_id' | 'merchant_domain'
>

/** Entries of one list that are not written yet. */
interface WaitingList {
  readonly accountId: string
  readonly listId: string
  /** Oldest first; those before `written` are written already. */
  readonly entries: WaitingEntry[]
  written: number
  /** Whether each id is later than the one before: not where the clock was set back before a restart. */
  isInOrder: boolean
}

interface WaitingEntry {
  readonly id: string
  readonly rowid: bigint
}

/**
 * The lists of each agent's, each mandate's and each merchant's transactions. An index would cost every
 * payment a page of its own in the write-ahead log, for each of the three. So the entries wait in memory and are written
 * list by list, many of a list at once. Nothing is lost by that: what was not written yet is found again
 * by its rowid when the file is opened, and reads look into both.
 */
export function prepareTransactionLists(db: SqliteDatabase) {
  const insertEntries = db.prepare(`
    insert into transaction_lists (account_id, list_id, id)
    select ?, ?, value from json_each(?) where true on conflict do nothing`)
  const selectProgress = db.prepare<[], bigint>('select listed_up_to from list_progress').pluck()
  const setProgress = db.prepare('update list_progress set listed_up_to = ?')
  const selectUnlisted = db.prepare<[bigint], ListedTransaction & { rowid: bigint }>(
    'select rowid, account_id, id, agent_id, mandate_id, merchant_domain from transactions where rowid > ? order by rowid',
  )
  const selectTransaction = db.prepare<[string, string], TransactionRow>(
    'select * from transactions where account_id = ? and id = ?',
  )
  const selectWritten = db.prepare<[string, string, string], TransactionRow>(`
    select t.* from transaction_lists l join transactions t on t.account_id = l.account_id and t.id = l.id
    where l.account_id = ? and l.list_id = ? and l.id < ? order by l.id desc`)

  const lists = new Map<string, WaitingList>()
  let waitingEntries = 0
  let lastRowid = selectProgress.get() ?? 0n
  for (const { rowid, ...transaction } of selectUnlisted.all(lastRowid)) {
    lastRowid = rowid
    wait(transaction)
  }

  function wait({
    account_id: accountId,
    id,
    agent_id: agentId,
    mandate_id: mandateId,
    merchant_domain: merchantDomain,
  }: ListedTransaction): void {
    for (const listId of [agentId, mandateId, listOfMerchant(merchantDomain)]) {
      const key = keyOf(accountId, listId)
      const list = lists.get(key)
      const entry = { id, rowid: lastRowid }
      if (list) {
        list.isInOrder &&= id > (list.entries.at(-1)?.id ?? '')
        list.entries.push(entry)
      } else lists.set(key, { accountId, listId, entries: [entry], written: 0, isInOrder: true })
      waitingEntries += 1
    }
  }

  /** At most so many rows of a list that fit, newest first, older than an id. */
  function readList(accountId: string, listId: string, reading: ListReading): TransactionRow[] {
    const { olderThan = '\uffff', most, fits } = reading
    const rows: TransactionRow[] = []
    const waiting = lists.get(keyOf(accountId, listId))
    for (const { id } of waiting ? newestFirst(waiting) : []) {
      if (id >= olderThan) continue
      const row = selectTransaction.get(accountId, id)
      if (row && fits(row)) rows.push(row)
      if (rows.length === most) break
    }
    let written = 0
    for (const row of selectWritten.iterate(accountId, listId, olderThan)) {
      if (!fits(row)) continue
      rows.push(row)
      if (++written === most) break
    }
    // What was written before a crash may wait again after it; and the clock may have been set back between
    // the two, so which is newer is for the ids to say.
    const distinct = new Map(rows.map((row) => [row.id, row])).values()
    return [...distinct].sort((left, right) => (left.id < right.id ? 1 : -1)).slice(0, most)
  }

  /** The oldest rowid that still waits once these are written: all others began to wait later. */
  function firstWaitingRowid(taken: readonly { key: string; list: WaitingList; upTo: number }[]): bigint {
    const partly = taken.at(-1)
    const cut = partly?.list.entries[partly.upTo]?.rowid
    let passed = 0
    let next: WaitingList | undefined
    for (const list of lists.values()) {
      if (passed++ < taken.length) continue
      next = list
      break
    }
    const following = next?.entries[next.written]?.rowid
    const candidates = [cut, following].filter((rowid) => rowid !== undefined)
    return candidates.reduce((least, rowid) => (rowid < least ? rowid : least), lastRowid + 1n)
  }

  return {
    /** Takes note of transactions that are committed, in the order in which they were inserted. */
    add(committed: readonly ListedTransaction[]): void {
      for (const transaction of committed) {
        lastRowid += 1n
        wait(transaction)
      }
    },

    /**
     * Writes some of what waits, when enough does, within the transaction that is open and that records
     * so many transactions itself. What it returns must be called when that is committed.
     */
    writeSome(recorded: number): () => void {
      const taken: { key: string; list: WaitingList; upTo: number }[] = []
      let left = waitingEntries > maxWaiting ? recorded * writtenForEach : 0
      // The map keeps the order in which its lists began to wait: the first has waited longest.
      for (const [key, list] of lists) {
        if (left === 0) break
        const upTo = Math.min(list.entries.length, list.written + left)
        const ids = list.entries.slice(list.written, upTo).map(({ id }) => id)
        insertEntries.run(list.accountId, list.listId, JSON.stringify(ids))
        left -= upTo - list.written
        taken.push({ key, list, upTo })
      }
      if (taken.length > 0) setProgress.run(firstWaitingRowid(taken) - 1n)
      return () => {
        for (const { key, list, upTo } of taken) {
          waitingEntries -= upTo - list.written
          list.written = upTo
          if (upTo === list.entries.length) lists.delete(key)
          if (list.written >= forgottenAtOnce) {
            list.entries.splice(0, list.written)
            list.written = 0
          }
        }
      }
    },

    /** The latest transactions of a list, whoever's they are. */
    latest: (accountId: string, listId: string, most: number): TransactionRow[] =>
      readList(accountId, listId, { most, fits: ({ side }) => side === 'payer' }),

    /** A page of the transactions of an agent, of a mandate or of a merchant. */
    list(scope: Scope, filter: TransactionFilter, page: Page): PageOf<Transaction> {
      const rows = readList(scope.accountId, listOf(filter) ?? '', {
        olderThan: page.olderThan,
        most: page.limit + 1,
        fits: (row) => fitsFilter(row, scope, filter),
      })
      const items = rows.slice(0, page.limit).map(toTransaction)
      return { items, next: rows.length > page.limit ? items.at(-1)?.id : undefined }
    },
  }
}

export type TransactionLists = ReturnType<typeof prepareTransactionLists>

/** The list that holds all transactions that fit; none when an index finds them better. */
export function listOf(filter: TransactionFilter): string | undefined {
  const { mandateId, agentId, merchantDomain, status } = filter
  // Most of a merchant's are paid, and what is not has an index.
  const isOfMerchant = merchantDomain !== undefined && (status ?? 'paid') === 'paid'
  return mandateId ?? agentId ?? (isOfMerchant ? listOfMerchant(merchantDomain) : undefined)
}

/** No id of an agent or a mandate begins like this. */
function listOfMerchant(domain: string): string {
  return `merchant:${domain}`
}

/** The entries of a list that are not written yet, by their ids. */
function* newestFirst({ entries, written, isInOrder }: WaitingList): Generator<WaitingEntry, void> {
  const inOrder = isInOrder ? entries : entries.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  const first = isInOrder ? written : 0
  for (let index = inOrder.length - 1; index >= first; index--) {
    const entry = inOrder[index]
    if (entry) yield entry
  }
}

interface ListReading {
  readonly olderThan?: string | undefined
  readonly most: number
  readonly fits: (row: TransactionRow) => boolean
}

function fitsFilter(
  row: TransactionRow,
  { accountId, environment }: Scope,
  filter: TransactionFilter,
): boolean {
  const { agentId, mandateId, status, merchantDomain, receivedOnly } = filter
  return (
    row.environment === environment &&
    (agentId === undefined || row.agent_id === agentId) &&
    (mandateId === undefined || row.mandate_id === mandateId) &&
    (status === undefined || row.status === status) &&
    (merchantDomain === undefined || row.merchant_domain === merchantDomain) &&
    (!receivedOnly ||
      (row.status === 'paid' && (row.seller_account_id === null || row.seller_account_id === accountId)))
  )
}

function keyOf(accountId: string, listId: string): string {
  return `${accountId}\n${listId}`
}
