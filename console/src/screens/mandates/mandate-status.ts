import type { ListedMandate } from '@purser/client'

type Standing = Pick<ListedMandate, 'status' | 'expires_at' | 'is_agent_revoked'>

/** The effective status: the mandate's own, or `expired`, or `agent revoked`. */
export function statusNow({ status, expires_at, is_agent_revoked }: Standing, nowMs: number): string {
  if (status === 'active' && Date.parse(expires_at) <= nowMs) return 'expired'
  return is_agent_revoked && status !== 'revoked' ? 'agent revoked' : status
}

/** Whether the mandate has ended, so that nothing more can be spent. */
export function isOver(mandate: Standing, nowMs: number): boolean {
  return !['active', 'paused'].includes(statusNow(mandate, nowMs))
}

/** Whether a mandate can be paused or resumed; neither after its agent is revoked. */
export function moveOf({ status, is_agent_revoked }: Standing): 'pause' | 'resume' | undefined {
  if (is_agent_revoked || status === 'revoked') return undefined
  return status === 'active' ? 'pause' : 'resume'
}
