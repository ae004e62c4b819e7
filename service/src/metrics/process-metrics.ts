import { readdir } from 'node:fs/promises'

import { single } from './catalogue.ts'
import type { Family } from './families.ts'
import { Histogram, requestSeconds } from './histogram.ts'

const intervalMs = 100

/** How late timers are: whatever keeps the event loop busy for longer keeps every request waiting for so long. */
export class EventLoopDelay {
  readonly #delays = new Histogram(requestSeconds)
  readonly #timer: NodeJS.Timeout

  constructor() {
    let beforeMs = performance.now()
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.#delays.observe(Math.max(0, nowMs - beforeMs - intervalMs) / 1_000)
      beforeMs = nowMs
    }, intervalMs).unref()
  }

  read() {
    return this.#delays.read()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** What the operating system and Node know of this process. */
export async function processFamilies(): Promise<Family[]> {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  // Linux has a file for each; elsewhere the metric has no series.
  const descriptors = await readdir('/proc/self/fd').catch(() => undefined)
  return [
    single('process_cpu_seconds_total', (user + system) / 1_000_000),
    single('process_resident_memory_bytes', rss),
    single('process_start_time_seconds', Math.round(performance.timeOrigin) / 1_000),
    single('nodejs_heap_size_used_bytes', heapUsed),
    ...(descriptors ? [single('process_open_fds', descriptors.length)] : []),
  ]
}
