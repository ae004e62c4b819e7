import { hostname } from 'node:os'

import type { Config } from './config.ts'

const levels = { error: 50, info: 30 }

/** The settings with which the log has lines of the level `info`. */
const talkative: readonly string[] = ['info', 'debug', 'trace']

export interface LogLine {
  readonly level: keyof typeof levels
  readonly msg: string
  readonly err?: Error
}

/** Writes a line as the application's log has them, where there is no application. */
export function writeLogLine({ level, msg, err }: LogLine, { logLevel }: Pick<Config, 'logLevel'>): void {
  const isTold = level === 'error' ? !['silent', 'fatal'].includes(logLevel) : talkative.includes(logLevel)
  if (!isTold) return
  const base = { level: levels[level], time: Date.now(), pid: process.pid, hostname: hostname() }
  const told = err && { err: { type: err.name, message: err.message, stack: err.stack } }
  console.error(JSON.stringify({ ...base, ...told, msg }))
}
