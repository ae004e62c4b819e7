import type { TransactionRow } from '../rows.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** How many entries may wait in memory before each batch of payments writes some of them. */
const maxWaiting = 49_152
/** How many waiting entries a batch writes for each transaction of its own, which adds three. */
const writtenForEach = 6
/** How many waiting entries are written at once while little is recorded. */
const writtenWhenQuiet = 1_000
/** How few transactions since the last look are little. */
const littleRecorded = 250

/** How many written entries of a list are kept in memory before they are let go. */
const forgottenAtOnce = 1_024

/** What is read of the latest transactions of a list. */
const latestColumns = ['id', 'side', 'status', 'created_at_ms'] as const satisfies (keyof TransactionRow)[]
type LatestTransaction = Pick<TransactionRow, (typeof latestColumns)[number]>

type Entry = LatestTransaction & { readonly rowid: bigint }

/** What of a transaction says which lists it stands in, and what is read of it there. */
export type ListedTransaction = Entry &
  Pick<TransactionRow, 'account_id' | 'agent_id' | 'mandate_id' | 'merchant_domain'>

/** Entries of one list that are not written yet. */
interface WaitingList {
  readonly accountId: string
  readonly listId: string
  /** Oldest first; those before `written` are written already. */
  readonly entries: Entry[]
  written: number
}

/**
 * The lists of each agent's, each mandate's and each merchant's transactions. An index would cost every
 * payment a page of its own in the write-ahead log, for each of the three. So the entries wait in memory and are written
 * list by list, many of a list at once. Nothing is lost by that: what was not written yet is found again
 * by its rowid when the file is opened, and reads look into both.
 */
export function prepareTransactionLists(db: SqliteDatabase) {
  const selectNumber = db
    .prepare<[string, string], bigint>(
      'select no from transaction_lists where account_id = ? and list_id = ?',
    )
    .pluck()
  const insertList = db.prepare('insert into transaction_lists (account_id, list_id) values (?, ?)')
  const insertEntries = db.prepare(`
    insert into listed_transactions (list_no, id)
    select ?, value from json_each(?) where true on conflict do nothing`)
  const selectProgress = db.prepare<[], bigint>('select listed_up_to from list_progress').pluck()
  const setProgress = db.prepare('update list_progress set listed_up_to = ?')
  const latest = latestColumns.join(', ')
  const selectUnlisted = db.prepare<[bigint], ListedTransaction>(`
    select rowid, account_id, agent_id, mandate_id, merchant_domain, ${latest} from transactions
    where rowid > ? order by rowid`)
  // Not joined, for SQLite plans a join anew each time that it is given values.
  const selectWritten = db
    .prepare<[bigint, string], string>(
      'select id from listed_transactions where list_no = ? and id > ? order by id desc',
    )
    .pluck()
  const selectTransaction = db.prepare<[string, string], LatestTransaction>(
    `select ${latest} from transactions where account_id = ? and id = ?`,
  )

  const lists = new Map<string, WaitingList>()
  let waitingEntries = 0
  let recordedSinceLook = 0
  let isQuiet = false
  let lastRowid = selectProgress.get() ?? 0n
  for (const transaction of selectUnlisted.all(lastRowid)) wait(transaction)

  function wait(transaction: ListedTransaction): void {
    const { account_id: accountId, agent_id: agentId, mandate_id: mandateId, rowid } = transaction
    const { id, side, status, created_at_ms } = transaction
    // Without the rest, for many wait.
    const entry: Entry = { id, side, status, created_at_ms, rowid }
    lastRowid = rowid
    for (const listId of [agentId, mandateId, listOfMerchant(transaction.merchant_domain)]) {
      const key = keyOf(accountId, listId)
      const list = lists.get(key)
      if (list) list.entries.push(entry)
      else lists.set(key, { accountId, listId, entries: [entry], written: 0 })
      waitingEntries += 1
    }
  }

  /** The number of a list, which is made when it is written first. */
  function numberOf({ accountId, listId }: WaitingList): bigint {
    return selectNumber.get(accountId, listId) ?? BigInt(insertList.run(accountId, listId).lastInsertRowid)
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
      recordedSinceLook += committed.length
      for (const transaction of committed) wait(transaction)
    },

    /**
     * Looks whether little was recorded since the last look. If so, the transaction that is open writes some of
     * what waits: then reads soon find nearly all in the lists.
     */
    look(): void {
      isQuiet = recordedSinceLook <= littleRecorded
      recordedSinceLook = 0
    },

    /**
     * Writes some of what waits, when enough does or little else is to be done, within the transaction that is
     * open and that records so many transactions itself. What it returns must be called when that is committed.
     */
    writeSome(recorded: number): () => void {
      const taken: { key: string; list: WaitingList; upTo: number }[] = []
      let left = isQuiet ? writtenWhenQuiet : waitingEntries > maxWaiting ? recorded * writtenForEach : 0
      isQuiet = false
      // The map keeps the order in which its lists began to wait: the first has waited longest.
      for (const [key, list] of lists) {
        if (left === 0) break
        const upTo = Math.min(list.entries.length, list.written + left)
        const ids = list.entries.slice(list.written, upTo).map(({ id }) => id)
        insertEntries.run(numberOf(list), JSON.stringify(ids))
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

    /** The latest transactions of a list that its account paid or asked for, newest first. */
    latest(accountId: string, listId: string, most: number): LatestTransaction[] {
      const rows: LatestTransaction[] = []
      const waiting = lists.get(keyOf(accountId, listId))
      const first = waiting?.written ?? 0
      for (let index = (waiting?.entries.length ?? 0) - 1; index >= first && rows.length < most; index--) {
        const row = waiting?.entries[index]
        if (row?.side === 'payer') rows.push(row)
      }
      // The clock may have been set back before these came: what is written may be newer than some of them.
      const newerThan =
        rows.length < most ? '' : rows.reduce((least, { id }) => (id < least ? id : least), '\uffff')
      let written = 0
      // No list has the number of one that was never written.
      for (const id of selectWritten.iterate(selectNumber.get(accountId, listId) ?? 0n, newerThan)) {
        const row = selectTransaction.get(accountId, id)
        if (row?.side !== 'payer') continue
        rows.push(row)
        if (++written === most) break
      }
      // What was written before a crash may wait again after it.
      const distinct = new Map(rows.map((row) => [row.id, row])).values()
      return [...distinct].sort((left, right) => (left.id < right.id ? 1 : -1)).slice(0, most)
    },
  }
}

export type TransactionLists = ReturnType<typeof prepareTransactionLists>

/** No id of an agent or a mandate begins like this. */
export function listOfMerchant(domain: string): string {
  return `merchant:${domain}`
}

function keyOf(accountId: string, listId: string): string {
  return `${accountId}\n${listId}`
}
