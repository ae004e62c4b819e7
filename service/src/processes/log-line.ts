import { hostname } from 'node:os'

import type { Config } from '../settings/config.ts'

const levels = { error: 50, warn: 40, info: 30 }

/** The PURSER_LOG_LEVEL values that include each level. */
const writtenAt: Readonly<Record<LogLine['level'], readonly string[]>> = {
  error: ['error', 'warn', 'info', 'debug', 'trace'],
  warn: ['warn', 'info', 'debug', 'trace'],
  info: ['info', 'debug', 'trace'],
}

export interface LogLine {
  readonly level: keyof typeof levels
  readonly msg: string
  readonly err?: Error
}

/** Writes a log line in the application's format, without an application. */
export function writeLogLine({ level, msg, err }: LogLine, { logLevel }: Pick<Config, 'logLevel'>): void {
  if (!writtenAt[level].includes(logLevel)) return
  const base = { level: levels[level], time: Date.now(), pid: process.pid, hostname: hostname() }
  const told = err && { err: { type: err.name, message: err.message, stack: err.stack } }
  console.error(JSON.stringify({ ...base, ...told, msg }))
}
