import './badge.css'
import { Icon, type IconName } from './icon.tsx'

type Tone = 'good' | 'bad' | 'warn' | 'quiet' | 'accent'

/** The look of each status: a tone, an icon and always its text, so that it never depends only on colour. */
const statuses: Record<string, { readonly tone: Tone; readonly icon: IconName; readonly word?: string }> = {
  active: { tone: 'good', icon: 'check' },
  paused: { tone: 'warn', icon: 'pause' },
  revoked: { tone: 'bad', icon: 'stop' },
  'agent revoked': { tone: 'bad', icon: 'stop' },
  expired: { tone: 'quiet', icon: 'clock' },
  paid: { tone: 'good', icon: 'check' },
  approved: { tone: 'accent', icon: 'check' },
  denied: { tone: 'bad', icon: 'cross' },
  pending: { tone: 'quiet', icon: 'clock' },
  open: { tone: 'warn', icon: 'hold' },
  captured: { tone: 'good', icon: 'check' },
  voided: { tone: 'quiet', icon: 'cross' },
  authorized: { tone: 'warn', icon: 'hold' },
  refunded: { tone: 'quiet', icon: 'refund' },
  'partly refunded': { tone: 'quiet', icon: 'refund' },
  consumed: { tone: 'good', icon: 'check', word: 'used' },
}

export function StatusBadge({ status }: { readonly status: string }) {
  const { tone, icon, word = status } = statuses[status] ?? { tone: 'quiet', icon: 'clock' }
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  )
}

export function Badge({
  tone,
  icon,
  children,
}: {
  readonly tone: Tone
  readonly icon?: IconName
  readonly children: string
}) {
  return (
    <span className={`badge ${tone}`}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  )
}
