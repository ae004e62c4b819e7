import type { IssuedApiKey, NewApiKey } from '@purser/client'
import { useState } from 'react'

import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { useTyped } from '../../api/typed.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Dialog, DialogActions, DialogForm } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { useActiveAgents } from '../agents/active-agents.ts'

/** The agent of the key, if preselected. */
interface Holder {
  readonly id: string
  readonly name: string
}

/** Issues a key, and shows its secret once. */
export function NewKey({
  isOpen,
  onClose,
  agent,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly agent?: Holder
}) {
  const [isShown, setShown] = useState(false)
  function close() {
    setShown(false)
    onClose()
  }
  return (
    <Dialog
      title={agent ? `A key for ${agent.name || 'this agent'}` : 'New key'}
      isOpen={isOpen}
      onClose={close}
      // A click outside must not lose a key that is never shown again.
      closesByButtonOnly={isShown}
    >
      <NewKeyForm onClose={close} onIssued={() => setShown(true)} agent={agent} />
    </Dialog>
  )
}

const roleWords: Partial<Record<NewApiKey['role'], string>> = {
  agent: 'Agent: requests payments within its mandates',
  merchant: 'Merchant: verifies proofs and sees its payments',
  approver: 'Approver: decides on approvals, and sees everything in this account',
  owner: 'Owner: everything in this account',
  operator: 'Operator: like an owner, and manages accounts',
}

function NewKeyForm({
  onClose,
  onIssued,
  agent,
}: {
  readonly onClose: () => void
  readonly onIssued: () => void
  readonly agent: Holder | undefined
}) {
  const { session, environment } = useSeen()
  const [role, setRole] = useState<NewApiKey['role']>('agent')
  const [label, setLabel] = useTyped('new-key.label', '')
  const [agentId, setAgentId] = useState(agent?.id ?? '')
  const [issued, setIssued] = useState<IssuedApiKey>()
  const agents = useActiveAgents({ isEnabled: agent === undefined })
  const create = useChange(
    (purser) =>
      purser.apiKeys.create({
        role,
        environment,
        label: label.trim() || null,
        ...(role === 'agent' ? { agent_id: agentId } : {}),
      }),
    {
      onDone: (key) => {
        setIssued(key)
        onIssued()
      },
    },
  )
  if (issued) return <IssuedOnce issued={issued} onClose={onClose} />

  const roles = (['agent', 'merchant', 'approver', 'owner', 'operator'] as const).filter(
    (one) => one !== 'operator' || session.role === 'operator',
  )
  const faults = formFaults(create.error, ['role', 'agent_id', 'label'])
  return (
    <DialogForm
      action={`Issue ${environment} key`}
      isWorking={create.isPending}
      failure={faults.rest}
      onClose={onClose}
      onSubmit={() => create.mutate(undefined)}
    >
      {!agent && (
        <SelectField
          label="Role"
          value={role}
          onChange={(value) => setRole(roles.find((one) => one === value) ?? 'agent')}
          options={roles.map((value) => ({ value, text: roleWords[value] ?? value }))}
          error={faults.byField.role}
        />
      )}
      {!agent && role === 'agent' && (
        <SelectField
          label="Agent"
          required
          value={agentId}
          onChange={setAgentId}
          options={agents.options}
          hint={agents.areNone && 'There is no active agent yet: create one first, under Agents.'}
          error={faults.byField.agent_id}
        />
      )}
      {(role === 'owner' || role === 'operator') && (
        <Notice tone="warn">Never give this key to an agent: it could raise its own limits.</Notice>
      )}
      <TextField
        label="Label"
        value={label}
        onChange={setLabel}
        maxLength={200}
        hint="Optional: where will it be used?"
        error={faults.byField.label}
      />
    </DialogForm>
  )
}

function IssuedOnce({ issued, onClose }: { readonly issued: IssuedApiKey; readonly onClose: () => void }) {
  return (
    <div className="stack">
      <Notice tone="good">
        The key is issued. It is shown only once: copy it to your secret manager now.
      </Notice>
      <CodeBlock label="Key" text={issued.key} />
      <DialogActions>
        <Button look="main" onClick={onClose}>
          I've saved it
        </Button>
      </DialogActions>
    </div>
  )
}
