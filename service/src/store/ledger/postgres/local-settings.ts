/** Sets something until the transaction ends, by a statement that is planned once, as `set local` is not. */
export function localSetting(name: string, value: string): string {
  return `set_config('${name}', '${value}', true)`
}

/**
 * Compiles nothing. To a server before 18 a plan that is ruled out is one of the dearest, and it would compile it for 50 to
 * 90 ms, each time that it is run.
 */
export const noJit = localSetting('jit', 'off')
