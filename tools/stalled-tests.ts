import { readdirSync, readFileSync } from 'node:fs'

/** A process that a test run has started, directly or indirectly. */
interface Descendant {
  readonly pid: number
  readonly command: string
}

/** All descendants of a process, from `/proc`; none without `/proc`. */
export function descendantsOf(ancestor: number): Descendant[] {
  const children = Map.groupBy(processes(), ({ parent }) => parent)
  const found: Descendant[] = []
  const parents = [ancestor]
  for (let pid = parents.pop(); pid !== undefined; pid = parents.pop()) {
    for (const child of children.get(pid) ?? []) {
      found.push(child)
      parents.push(child.pid)
    }
  }
  return found
}

function processes(): (Descendant & { readonly parent: number })[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The name in parentheses may contain anything; the state and the parent follow it.
        const parent = Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        return [{ pid: Number(name), parent, command }]
      } catch {
        // It has exited in the meantime.
        return []
      }
    })
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/**
 * Ends what a test run waits for when nothing has been reported for a while: a process that never exits, or one that a test
 * left behind and that holds its output. The runner then reports the files as failed, instead of waiting forever.
 */
export function endStalledProcesses(stalledMs: number): { readonly noteProgress: () => void } {
  let lastMs = performance.now()
  const timer = setInterval(
    () => {
      if (performance.now() - lastMs < stalledMs) return
      lastMs = performance.now()
      for (const { pid, command } of descendantsOf(process.pid)) {
        console.error(
          `No test has ended for ${stalledMs / 1000} s; ended process ${pid}: ${command.slice(-200)}`,
        )
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It has exited by itself.
        }
      }
    },
    Math.min(5_000, stalledMs / 4),
  )
  timer.unref()
  return { noteProgress: () => (lastMs = performance.now()) }
}
