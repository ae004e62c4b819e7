import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Frees what is unreachable, at once. */
export const collectGarbage = runInNewContext('gc') as () => void

/** Frees what is unreachable, and lets finalizers run. */
export async function finalizeGarbage(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    collectGarbage()
    await sleep(1)
  }
}
