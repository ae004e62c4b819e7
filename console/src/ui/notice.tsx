import type { ReactNode } from 'react'

import { Icon, type IconName } from './icon.tsx'
import './notice.css'

const icons = { warn: 'warning', bad: 'warning', good: 'check', plain: 'live' } as const satisfies Record<
  string,
  IconName
>

/** A highlighted notice. */
export function Notice({
  tone,
  children,
}: {
  readonly tone: keyof typeof icons
  readonly children: ReactNode
}) {
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={icons[tone]} size={18} />
      <div>{children}</div>
    </div>
  )
}

/** An empty state: what belongs here, and how to add it. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: IconName
  readonly title: string
  readonly children: ReactNode
  readonly action?: ReactNode
}) {
  return (
    <div className="empty-state">
      <span className="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      <div className="quiet empty-words">{children}</div>
      {action && <div className="row">{action}</div>}
    </div>
  )
}
