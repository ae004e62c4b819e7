/** Changes a setting until the transaction ends, by a statement that is planned once, unlike `set local`. */
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
export const transactionTimeout = `case when current_setting('server_version_num')::int >= 170000
  then ${localSetting('transaction_timeout', '11000')} else '' end`
