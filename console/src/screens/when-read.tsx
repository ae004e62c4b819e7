import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { Panel } from '../ui/panel.tsx'
import { Failed, Outdated, Waiting } from '../ui/waiting.tsx'
import { Screen } from './screen.tsx'

/** The screen of what is read: its title at once, then all of it, or why it is not there or no longer fresh. */
export function WhenRead<Answer>({
  query,
  title,
  above,
  children,
}: {
  readonly query: UseQueryResult<Answer>
  /** Stands in the window and at the top until there is more. */
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
  return (
    <Screen title={title} above={above}>
      {query.isError ? (
        <Failed error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <Panel title={title} isTitleHidden flush>
          <Waiting lines={8} />
        </Panel>
      )}
    </Screen>
  )
}
