import type { ReactNode } from 'react'

import { useSeen } from '../api/seen.tsx'
import './screen.css'

/** A screen: its title in the window and at the top, what can be done, and its parts below one another. */
export function Screen({
  title,
  heading = title,
  lead,
  actions,
  above,
  children,
}: {
  /** The title in the window. */
  readonly title: string
  /** What stands at the top, where it is more than the title. */
  readonly heading?: ReactNode
  /** What the screen is about. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** Stands above the title: the way back. */
  readonly above?: ReactNode
  readonly children: ReactNode
}) {
  const { environment } = useSeen()
  return (
    <>
      <title>{`${title} · ${environment} · Purser`}</title>
      <div className="screen">
        <header className="screen-head">
          {above && <div>{above}</div>}
          <div className="screen-title">
            <h1>{heading}</h1>
            {actions && <div className="row">{actions}</div>}
          </div>
          {lead && <p className="screen-lead">{lead}</p>}
        </header>
        {children}
      </div>
    </>
  )
}
