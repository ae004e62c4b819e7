import { Go } from '../shell/go.tsx'
import { EmptyState } from '../ui/notice.tsx'
import { Screen } from './screen.tsx'

export function NotFound() {
  return (
    <Screen title="Not found">
      <EmptyState icon="search" title="Page not found">
        Check the address. <Go to="">Go to the overview</Go>, or press <kbd>/</kbd> to search.
      </EmptyState>
    </Screen>
  )
}
