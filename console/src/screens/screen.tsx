import type { ReactNode } from 'react'

import { useSeen } from '../api/seen.tsx'
import { ScreenHead } from '../ui/panel.tsx'
import './screen.css'

/** A screen: its title in the window and at the top, and its content. */
export function Screen({
  title,
  heading = title,
  children,
  ...head
}: {
  /** The title in the window. */
  readonly title: string
  /** The heading, if it is more than the title. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly above?: ReactNode
  readonly children: ReactNode
}) {
  const { environment } = useSeen()
  return (
    <>
      <title>{`${title} · ${environment} · Purser`}</title>
      <div className="screen">
        <ScreenHead title={heading} {...head} />
        {children}
      </div>
    </>
  )
}
