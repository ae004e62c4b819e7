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
import { useIsOwner } from '../owners-only.tsx'
import { moveOf } from './mandate-status.ts'

/** The actions for a mandate: pause, resume, edit, duplicate, revoke. An approver can only edit, to allow less. */
export function MandateMenu({ mandate }: { readonly mandate: ListedMandate }) {
  const { pause, resume } = usePauseAndResume(mandate)
  const [isRevoking, setRevoking] = useState(false)
  const path = usePath()
  const navigate = useNavigate()
  const isOwner = useIsOwner()
  const move = isOwner ? moveOf(mandate) : undefined
  const name = nameOf(mandate)
  const revoke = useChange((purser) => purser.mandates.revoke(mandate.id), {
    onDone: () => {
      setRevoking(false)
      sayDone(`Revoked: ${name}`)
    },
    whenUnseen: `Not revoked: ${name}.`,
  })
  if (!isOwner && mandate.status === 'revoked') return null
  return (
    <>
      <Menu label={`Actions for ${name}`}>
        {move === 'pause' && (
          <MenuItem icon="pause" onClick={() => pause.mutate(undefined)}>
            Pause
          </MenuItem>
        )}
        {move === 'resume' && (
          <MenuItem icon="play" onClick={() => resume.mutate(undefined)}>
            Resume
          </MenuItem>
        )}
        {mandate.status !== 'revoked' && (
          <MenuItem icon="edit" onClick={() => void navigate(path(`mandates/${mandate.id}/edit`))}>
            Edit
          </MenuItem>
        )}
        {isOwner && (
          <MenuItem icon="copy" onClick={() => void navigate(path(`mandates/new?like=${mandate.id}`))}>
            Duplicate
          </MenuItem>
        )}
        {isOwner && mandate.status !== 'revoked' && (
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
