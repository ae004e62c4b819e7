import type { Open } from '../send.ts'
import type { JournalQuery } from '../wire-types.ts'

export type Journal = ReturnType<typeof journal>

export function journal(open: Open) {
  return {
    /**
     * Every payment and refund of the account as double-entry lines, newest first, as a CSV stream for accountants.
     *
     * @example
     * const csv = await purser.journal.exportCsv({ created_from: '2026-11-01T00:00:00Z' })
     * await writeFile('journal.csv', csv)
     */
    exportCsv: async (
      query?: JournalQuery,
      options?: { readonly signal?: AbortSignal | undefined },
    ): Promise<ReadableStream<Uint8Array>> => {
      return open({ path: '/v1/journal.csv', query }, options)
    },
  }
}
