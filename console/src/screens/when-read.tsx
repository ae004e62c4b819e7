import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { Panel } from '../ui/panel.tsx'
import { Failed, Outdated, Waiting } from '../ui/waiting.tsx'
import { Screen } from './screen.tsx'

/** A screen with a query: the title at once, then the content, or an error or staleness notice. */
export function WhenRead<Answer>({
  query,
  title,
  above,
  children,
}: {
  readonly query: UseQueryResult<Answer>
  /** The title until the data has loaded. */
  readonly title: string
  readonly above?: ReactNode
  readonly children: (answer: Answer) => ReactNode
}) {
  if (query.data !== undefined) {
    return (
      <div className="screen">
        {query.isError && <Outdated error={query.error} readAtMs={query.dataUpdatedAt} />}
        {children(query.data)}
      </div>
    )
  }
  if (!query.isError) return <Loading title={title} above={above} />
  return (
    <Screen title={title} above={above}>
      <Failed error={query.error} onRetry={() => void query.refetch()} />
    </Screen>
  )
}

/** A screen whose content is not known yet. */
export function Loading({ title, above }: { readonly title: string; readonly above?: ReactNode }) {
  return (
    <Screen title={title} above={above}>
      <Panel title={title} isTitleHidden flush>
        <Waiting lines={8} />
      </Panel>
    </Screen>
  )
}
