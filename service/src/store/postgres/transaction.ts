import type { Pool, PoolClient, QueryConfig } from 'pg'

import { breaksConnection, withRetries, type RetryOptions } from '../ledger/postgres/retries.ts'
import { localSetting, noJit } from '../ledger/postgres/local-settings.ts'
import { roundTrip, type Answer, type RoundTripOptions } from '../ledger/postgres/round-trip.ts'

/** A transaction that an act asks and writes in; it is open from the first question to the commit. */
export interface Transaction {
  /** Whether an earlier attempt may have been written: the act then looks for what it wrote itself. */
  readonly isRerun: boolean
  /** Sends statements together, in one round trip; their answers, in their order. */
  readonly ask: (...statements: QueryConfig[]) => Promise<Answer[]>
  /** As `ask`, and then commits, all in one round trip: it resolves when everything is durable. */
  readonly commit: (...statements: QueryConfig[]) => Promise<Answer[]>
}

/**
 * Runs acts as transactions of a pool. An act that fails in passing is run again; also one whose commit
 * got no answer, since it finds what it wrote. It must end with `commit`.
 */
export function prepareTransactions(
  pool: Pool,
  { random, keepsPlans = true }: { readonly random: () => number; readonly keepsPlans?: boolean },
) {
  const begin = keepsPlans ? beginKept : beginWith(false)

  return function inTransaction<Result>(
    { deadlineMs }: Pick<RetryOptions, 'deadlineMs'>,
    act: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return withRetries({ deadlineMs, random }, async (attempt) => {
      const client = await pool.connect()
      const patience = guard(client, Math.min(attemptMs, deadlineMs - performance.now()))
      let broken = true
      try {
        const result = await act(open(client, { begin, isRerun: attempt > 0 }))
        broken = false
        return result
      } catch (error) {
        broken = breaksConnection(error) || !(await rollback(client))
        throw error
      } finally {
        clearTimeout(patience)
        client.release(broken)
      }
    })
  }
}

export type InTransaction = ReturnType<typeof prepareTransactions>

/** How long one attempt may take, the server's own limits included. */
export const attemptMs = 6_000

/**
 * Nothing is left behind on the connection, which a pool may share: all settings end with the transaction.
 * Plans are made once for each connection, most often while the tables are still small, and kept. So what
 * would be good for small tables only is ruled out: each row is found by its key, whatever the planner knows.
 * Citus cannot keep every plan, and fails where it must.
 */
function beginWith(keepsPlans: boolean): QueryConfig[] {
  const settings = [
    localSetting('statement_timeout', '5000'),
    localSetting('idle_in_transaction_session_timeout', '10000'),
    transactionTimeout,
    ...(keepsPlans ? [localSetting('plan_cache_mode', 'force_generic_plan')] : []),
    ...ruledOut.map((plan) => localSetting(plan, 'off')),
    noJit,
  ]
  return [
    { name: 'purser_begin', text: 'begin isolation level read committed' },
    { name: 'purser_settings', text: `select ${settings.join(', ')}` },
  ]
}

/**
 * Ends a transaction of which the rest never arrives, since the service's machine has vanished: for the server that is no
 * idle session, it is in the middle of a question. Servers before 17 cannot be told so.
 */
const transactionTimeout = `case when current_setting('server_version_num')::int >= 170000
  then ${localSetting('transaction_timeout', '10000')} end`

const ruledOut = [
  'enable_seqscan',
  'enable_indexscan',
  'enable_indexonlyscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_material',
]

const beginKept = beginWith(true)

/** It has no name: what watches the wire for commits finds the word. */
const commit: QueryConfig = { text: 'commit' }

/** Sends a whole transaction in one round trip; the answers to its statements, once everything is durable. */
export async function commitIn(
  client: PoolClient,
  statements: readonly QueryConfig[],
  options?: RoundTripOptions,
): Promise<Answer[]> {
  const answers = await roundTrip(client, [...beginKept, ...statements, commit], options)
  return committed(answers).slice(beginKept.length)
}

function committed(answers: Answer[]): Answer[] {
  if (answers.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was not committed')
  return answers
}

function open(
  client: PoolClient,
  { begin, isRerun }: { readonly begin: readonly QueryConfig[]; readonly isRerun: boolean },
): Transaction {
  let isOpen = false

  async function send(statements: QueryConfig[]): Promise<Answer[]> {
    if (isOpen) return roundTrip(client, statements)
    isOpen = true
    const answers = await roundTrip(client, [...begin, ...statements])
    return answers.slice(begin.length)
  }

  return {
    isRerun,
    ask: (...statements) => send(statements),
    commit: async (...statements) => committed(await send([...statements, commit])),
  }
}

/** Cuts a connection that takes too long: a network that swallows everything answers nothing, ever. */
export function guard(client: PoolClient, patienceMs: number): NodeJS.Timeout {
  return setTimeout(() => {
    const error = Object.assign(new Error('PostgreSQL did not answer in time'), { code: 'ETIMEDOUT' })
    client.connection.stream.destroy(error)
  }, patienceMs)
}

async function rollback(client: PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}
