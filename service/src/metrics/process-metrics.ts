import { readdir } from 'node:fs/promises'

import { single } from './catalogue.ts'
import type { Family } from './families.ts'
import { Histogram, requestSeconds } from './histogram.ts'

const intervalMs = 100

/** How late timers fire: a busy event loop delays every request by as much. */
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

/** Process metrics of the operating system and Node. */
export async function processFamilies(): Promise<Family[]> {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  // Linux lists them as files; other systems have no series.
  const descriptors = await readdir('/proc/self/fd').catch(() => undefined)
  return [
    single('process_cpu_seconds_total', (user + system) / 1_000_000),
    single('process_resident_memory_bytes', rss),
    single('process_start_time_seconds', Math.round(performance.timeOrigin) / 1_000),
    single('nodejs_heap_size_used_bytes', heapUsed),
    ...(descriptors ? [single('process_open_fds', descriptors.length)] : []),
  ]
}
