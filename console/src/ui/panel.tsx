import { useId, type ReactNode } from 'react'

import { LegendMark } from './legend-mark.tsx'
import './panel.css'

/** A section of a screen with a heading. */
export function Panel({
  title,
  aside,
  children,
  flush = false,
  isTitleHidden = false,
}: {
  readonly title: string
  /** A link or button next to the heading. */
  readonly aside?: ReactNode
  readonly children: ReactNode
  /** Whether the content has no padding, like a table. */
  readonly flush?: boolean
  /** Whether the heading is only for screen readers, because the screen's title already says it. */
  readonly isTitleHidden?: boolean
}) {
  const id = useId()
  return (
    <section className={flush ? 'panel flush' : 'panel'} aria-labelledby={id}>
      <header className={isTitleHidden ? 'only-read-aloud' : 'panel-head'}>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      <div className="panel-body">{children}</div>
    </section>
  )
}

/** The head of a screen: title, actions, and lead. */
export function ScreenHead({
  title,
  lead,
  actions,
  above,
}: {
  readonly title: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** The back link above the title. */
  readonly above?: ReactNode
}) {
  return (
    <header className="screen-head">
      {above && <div>{above}</div>}
      <div className="screen-title">
        <h1>{title}</h1>
        {actions && <div className="row">{actions}</div>}
      </div>
      {lead && <p className="screen-lead">{lead}</p>}
    </header>
  )
}

/** Facts about one thing, as pairs. */
export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="facts">{children}</dl>
}

export function Fact({
  name,
  mark,
  isWide = false,
  children,
}: {
  readonly name: string
  /** Its colour in the chart. */
  readonly mark?: 'paid' | 'held'
  /** Whether it takes a full row. */
  readonly isWide?: boolean
  readonly children: ReactNode
}) {
  return (
    <div className={isWide ? 'fact wide' : 'fact'}>
      <dt>
        {mark && <LegendMark of={mark} />} {name}
      </dt>
      <dd>{children}</dd>
    </div>
  )
}
