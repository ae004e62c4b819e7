import type { ListedMandate } from '@purser/client'

type Standing = Pick<ListedMandate, 'status' | 'expires_at' | 'is_agent_revoked'>

/** What a mandate is worth now: its status, `expired` when its time is over, `agent revoked` when its agent is. */
export function statusNow({ status, expires_at, is_agent_revoked }: Standing): string {
  if (status === 'active' && Date.parse(expires_at) <= Date.now()) return 'expired'
  return is_agent_revoked && status !== 'revoked' ? 'agent revoked' : status
}

/** Whether nothing can be spent of a mandate any more, whatever is left of it. */
export function isOver(mandate: Standing): boolean {
  return !['active', 'paused'].includes(statusNow(mandate))
}

/** How a mandate can be stopped for a while, or go on; neither means anything once its agent is revoked. */
export function moveOf({ status, is_agent_revoked }: Standing): 'pause' | 'resume' | undefined {
  if (is_agent_revoked || status === 'revoked') return undefined
  return status === 'active' ? 'pause' : 'resume'
}
