/** Sets something until the transaction ends, by a statement that is planned once, as `set local` is not. */
export function localSetting(name: string, value: string): string {
  return `set_config('${name}', '${value}', true)`
}

/**
 * Compiles nothing. To a server before 18 a plan that is ruled out is one of the dearest, and it would compile it for 50 to
 * 90 ms, each time that it is run.
 */
export const noJit = localSetting('jit', 'off')

/**
 * Ends a transaction of which the rest never arrives, since the service's machine has vanished: for the server that is no
 * idle session, it is in the middle of a statement. Servers before 17 cannot be told so.
 */
export const transactionTimeout = `case when current_setting('server_version_num')::int >= 170000
  then ${localSetting('transaction_timeout', '11000')} else '' end`
