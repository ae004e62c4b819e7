import type { ConsoleMandate } from './console-store.ts'
import { toMandate, type MandateRow } from './rows.ts'

/** A mandate with the name of its agent. */
export interface ConsoleMandateRow extends MandateRow {
  agent_name: string | null
}

export function toConsoleMandate(row: ConsoleMandateRow): ConsoleMandate {
  return {
    ...toMandate(row),
    agentName: row.agent_name ?? '',
    isStopped: row.stopped_by !== null && row.status === 'paused',
  }
}
