import type { Statement } from './round-trip.ts'

/** A setting until the end of the transaction; the statement is planned once, unlike `set local`. */
export function localSetting(name: string, value: string): string {
  return `set_config('${name}', '${value}', true)`
}

/**
 * Turns off JIT compilation. Servers before 18 treat a disabled plan as very expensive, and would compile it for 50
 * to 90 ms on each run.
 */
export const noJit = localSetting('jit', 'off')

/**
 * Ends a transaction whose remaining statements never arrive because the client's machine has vanished: the server
 * does not see it as idle, but in the middle of a statement. Servers before 17 lack this setting.
 */
const transactionTimeout = `case when current_setting('server_version_num')::int >= 170000
  then ${localSetting('transaction_timeout', '11000')} else '' end`

const limits = [
  "set_config('statement_timeout', $1, true)",
  "set_config('lock_timeout', $2, true)",
  // The service has stopped responding: its machine has vanished, or the process is frozen.
  localSetting('idle_in_transaction_session_timeout', '10000'),
  transactionTimeout,
]

/**
 * Each connection keeps its plans, which are often made while the tables are small, so plans that are good
 * only for small tables are disabled. Rows are found by key, and ranges by the index that gives their order.
 */
const plans = [
  localSetting('plan_cache_mode', 'force_generic_plan'),
  ...['seqscan', 'sort', 'incremental_sort', 'memoize'].map((plan) => localSetting(`enable_${plan}`, 'off')),
  noJit,
]

/** Identifies the server, until it starts again. */
const serverStart = 'pg_postmaster_start_time()::text'

function statement(name: string, settings: readonly string[], ...conditions: readonly string[]) {
  const all = [...conditions, ...settings.map((setting) => `${setting} is not null`)]
  return { name, text: `select ${serverStart} where ${all.join(' and ')}` }
}

const anyServer = statement('purser_limits', [...limits, ...plans])
/** Fails on any other server than the one that the cached rows are from. */
const sameServer = statement(
  'purser_limits_cached',
  [...limits, ...plans],
  `1 / (${serverStart} = $3)::int = 1`,
)
/** Citus chooses the machine when it plans, so plans are not kept. */
const distributedServer = statement('purser_limits_distributed', [
  ...limits,
  localSetting('citus.propagate_set_commands', 'local'),
])

export interface BeginOptions {
  readonly limitMs: number
  /** 0 for no limit. */
  readonly lockLimitMs: number
  /** Begins only on the server that started then. */
  readonly serverStart?: string | undefined
  readonly isDistributed?: boolean
}

/** Begins a transaction; all settings end with it. The second answer is the start of the server. */
export function beginWith({
  limitMs,
  lockLimitMs,
  serverStart,
  isDistributed = false,
}: BeginOptions): Statement[] {
  const { name, text } = isDistributed
    ? distributedServer
    : serverStart === undefined
      ? anyServer
      : sameServer
  const values = [`${limitMs}`, `${lockLimitMs}`, ...(serverStart === undefined ? [] : [serverStart])]
  return [
    { name: 'purser_begin', text: 'begin isolation level read committed' },
    { name, text, values, decodeRow: ([start]) => start },
    ...(isDistributed ? propagated(lockLimitMs) : []),
  ]
}

/** Settings for the other machines too: Citus propagates only `set local`. */
function propagated(lockLimitMs: number): Statement[] {
  return ['jit = off', `lock_timeout = ${lockLimitMs}`].map((setting) => ({
    name: `purser_local_${setting.replace(/\W+/g, '_')}`,
    text: `set local ${setting}`,
  }))
}
