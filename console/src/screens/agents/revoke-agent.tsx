import type { AgentSummary } from '@purser/client'
import { useState } from 'react'

import { useChange } from '../../api/queries.ts'
import { counted } from '../../text/counts.ts'
import { isTypedEasily } from '../../text/names.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { sayDone } from '../../ui/toast.tsx'

/** Revoking is permanent, so the dialog says what it will stop and asks for the agent's name. */
export function RevokeAgent({ agent }: { readonly agent: AgentSummary }) {
  const [isOpen, setOpen] = useState(false)
  const revoke = useChange((purser) => purser.agents.revoke(agent.id), {
    onDone: () => {
      setOpen(false)
      sayDone('Agent revoked')
    },
    whenUnseen: `Not revoked: ${agent.name || agent.id}.`,
  })
  return (
    <>
      <Button look="grave" icon="stop" onClick={() => setOpen(true)}>
        Revoke
      </Button>
      <ConfirmByTyping
        title="Revoke this agent?"
        word={isTypedEasily(agent.name) ? agent.name : 'revoke'}
        action="Revoke permanently"
        endsButton
        isOpen={isOpen}
        change={revoke}
        onClose={() => setOpen(false)}
        onConfirm={() => revoke.mutate(undefined)}
      >
        <p className="breakable">
          “{agent.name || agent.id}” can never be used again. This stops, immediately and permanently:
        </p>
        <ul className="bullets">
          <li>
            {counted(agent.active_mandates, 'active mandate')}, of which{' '}
            <Amount value={agent.remaining_budget} currency="USDC" /> are left
          </li>
          <li>
            {counted(agent.open_holds, 'open proof')} over <Amount value={agent.held_total} currency="USDC" />
          </li>
          <li>{counted(agent.working_keys, 'working key')} of its own: nothing more is paid with it</li>
        </ul>
        {agent.authorized_payments > 0 && (
          <p>
            {counted(agent.authorized_payments, 'authorized payment')} of{' '}
            <Amount value={agent.authorized_total} currency="USDC" /> can still be charged until the
            merchants’ deadlines.
          </p>
        )}
        <p className="quiet">To stop it for a while, pause its mandates instead.</p>
      </ConfirmByTyping>
    </>
  )
}
