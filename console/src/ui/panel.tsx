import { useId, type ReactNode } from 'react'

import { LegendMark } from './legend-mark.tsx'
import './panel.css'

/** A part of a screen with its heading. */
export function Panel({
  title,
  aside,
  children,
  flush = false,
  isTitleHidden = false,
}: {
  readonly title: string
  /** What stands opposite the heading: a link or a button. */
  readonly aside?: ReactNode
  readonly children: ReactNode
  /** Whether the content reaches the edges, as a table does. */
  readonly flush?: boolean
  /** Whether the heading is only read aloud: where the screen's own says it already. */
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

/** The head of a screen: its name, what can be done, and what it is about. */
export function ScreenHead({
  title,
  lead,
  actions,
  above,
}: {
  readonly title: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** Stands above the title: the way back. */
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
  /** Its colour in the drawing beside. */
  readonly mark?: 'paid' | 'held'
  /** Whether it takes a row of its own. */
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
