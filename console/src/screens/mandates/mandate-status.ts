import type { Mandate } from '@purser/client'

/** What a mandate is worth now: its status, or `expired` when its time is over. */
export function statusNow({ status, expires_at }: Pick<Mandate, 'status' | 'expires_at'>): string {
  return status === 'active' && Date.parse(expires_at) <= Date.now() ? 'expired' : status
}
