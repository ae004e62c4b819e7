import type { ListedMandate, Mandate } from '@purser/client'
import { useState } from 'react'
import { useNavigate } from 'react-router'

import { useChange } from '../../api/queries.ts'
import { usePath } from '../../shell/go.tsx'
import { readMicro } from '../../text/amounts.ts'
import { Amount } from '../../ui/amount.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { moveOf } from './mandate-status.ts'

/** The actions for a mandate: pause, resume, edit, duplicate, revoke. */
export function MandateMenu({ mandate }: { readonly mandate: ListedMandate }) {
  const { pause, resume } = usePauseAndResume(mandate)
  const [isRevoking, setRevoking] = useState(false)
  const path = usePath()
  const navigate = useNavigate()
  const name = nameOf(mandate)
  const revoke = useChange((purser) => purser.mandates.revoke(mandate.id), {
    onDone: () => {
      setRevoking(false)
      sayDone(`Revoked: ${name}`)
    },
    whenUnseen: `Not revoked: ${name}.`,
  })
  return (
    <>
      <Menu label={`Actions for ${name}`}>
        {moveOf(mandate) === 'pause' && (
          <MenuItem icon="pause" onClick={() => pause.mutate(undefined)}>
            Pause
          </MenuItem>
        )}
        {moveOf(mandate) === 'resume' && (
          <MenuItem icon="play" onClick={() => resume.mutate(undefined)}>
            Resume
          </MenuItem>
        )}
        {mandate.status !== 'revoked' && (
          <MenuItem icon="edit" onClick={() => void navigate(path(`mandates/${mandate.id}/edit`))}>
            Edit
          </MenuItem>
        )}
        <MenuItem icon="copy" onClick={() => void navigate(path(`mandates/new?like=${mandate.id}`))}>
          Duplicate
        </MenuItem>
        {mandate.status !== 'revoked' && (
          <MenuItem icon="stop" isDangerous onClick={() => setRevoking(true)}>
            Revoke…
          </MenuItem>
        )}
      </Menu>
      <ConfirmByTyping
        title="Revoke this mandate?"
        word="revoke"
        action="Revoke permanently"
        isOpen={isRevoking}
        change={revoke}
        onClose={() => setRevoking(false)}
        onConfirm={() => revoke.mutate(undefined)}
      >
        <p className="breakable">
          “{name}” can never be used again. <Amount value={mandate.remaining_budget} currency="USDC" /> of it
          are unspent, and open proofs over <Amount value={mandate.held_total} currency="USDC" /> end at once.
        </p>
        {readMicro(mandate.authorized_total) !== 0n && (
          <p>
            Authorized payments of <Amount value={mandate.authorized_total} currency="USDC" /> can still be
            charged until the merchants’ deadlines.
          </p>
        )}
        <p className="quiet">To stop it for a while, pause it instead.</p>
      </ConfirmByTyping>
    </>
  )
}

/** Pausing and resuming undo each other, so their toasts offer undo. */
export function usePauseAndResume(mandate: Mandate) {
  const name = nameOf(mandate)
  const endedProofs = readMicro(mandate.held_total) === 0n ? '' : '. Its open proofs have ended.'
  const resume = useChange((purser) => purser.mandates.resume(mandate.id), {
    onDone: () => sayDone(`Resumed: ${name}`, { label: 'Undo', act: () => pause.mutate(undefined) }),
    whenFailed: `Not resumed: ${name}.`,
  })
  const pause = useChange((purser) => purser.mandates.pause(mandate.id), {
    onDone: () =>
      sayDone(`Paused: ${name}${endedProofs}`, { label: 'Undo', act: () => resume.mutate(undefined) }),
    whenFailed: `Not paused: ${name}.`,
  })
  return { pause, resume }
}

function nameOf({ purpose, id }: Mandate): string {
  return purpose || id
}
