import type { ApprovalRequest, MandateDetail } from '@purser/client'

import { useSeen } from '../../api/seen.tsx'
import { Button } from '../../ui/button.tsx'
import { obstaclesOf } from './approval-words.ts'
import type { Decide } from './decide.ts'
import { useIsOver } from './time-left.tsx'

/** What the caller may do with a pending request: `a` and `d` are the same as the buttons. */
export function useChoices(
  approval: ApprovalRequest,
  mandate: Pick<MandateDetail, 'version' | 'status'> | undefined,
  decide: Decide,
  note = '',
) {
  const { session } = useSeen()
  const isOver = useIsOver(approval.expires_at)
  const obstacles = obstaclesOf(approval, session, mandate)
  const isClosed = approval.status !== 'pending' || isOver || decide.isWorking
  const approve = isClosed || obstacles.toApprove !== undefined ? undefined : () => decide.approve(note)
  const deny = isClosed || obstacles.toDeny !== undefined ? undefined : () => decide.deny(note)
  return {
    approve,
    deny,
    why: obstacles.toApprove,
    keys: { ...(approve && { a: approve }), ...(deny && { d: deny }) },
  }
}

/** Approve and deny, and why not. */
export function DecisionButtons({ approve, deny, why }: Omit<ReturnType<typeof useChoices>, 'keys'>) {
  return (
    <div className="stack-tight">
      <div className="row request-buttons">
        <Button look="main" icon="check" aria-keyshortcuts="A" disabled={!approve} onClick={approve}>
          Approve <kbd aria-hidden="true">A</kbd>
        </Button>
        <Button look="grave" icon="cross" aria-keyshortcuts="D" disabled={!deny} onClick={deny}>
          Deny <kbd aria-hidden="true">D</kbd>
        </Button>
      </div>
      {why !== undefined && <p className="quiet">{why}</p>}
    </div>
  )
}
