import type { ListConsoleTransactionsQuery } from '@purser/client'
import { useRef, type MouseEvent } from 'react'

import { exportAddress } from '../../api/export-address.ts'
import { explainFailure } from '../../api/failures.ts'
import { useReadNow } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Icon } from '../../ui/icon.tsx'
import { sayFailed } from '../../ui/toast.tsx'

/**
 * Downloads the transactions as CSV. The browser downloads them itself, and would call each refusal a failed download:
 * so one transaction is read first.
 */
export function ExportLink({ query }: { readonly query: ListConsoleTransactionsQuery }) {
  const { session, environment } = useSeen()
  const readNow = useReadNow()
  const isAnswered = useRef(false)
  async function download(event: MouseEvent<HTMLAnchorElement>) {
    if (isAnswered.current || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    const link = event.currentTarget
    try {
      await readNow('before-export', (purser, signal) =>
        purser.console.transactions.list({ ...query, limit: 1 }, { signal }).page(),
      )
    } catch (error) {
      sayFailed(`Nothing was exported. ${explainFailure(error)}`)
      return
    }
    isAnswered.current = true
    link.click()
    isAnswered.current = false
  }
  return (
    <a
      className="button"
      href={exportAddress({ environment, account_id: session.account.id, ...query })}
      download
      onClick={(event) => void download(event)}
    >
      <Icon name="download" />
      Export as CSV
    </a>
  )
}
