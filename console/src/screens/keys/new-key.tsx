import type { NewApiKey } from '@purser/client'
import { useEffect, useRef, useState } from 'react'

import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { useTyped } from '../../api/typed.ts'
import { expectKey } from '../../api/unsaved-keys.ts'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { sayFailed } from '../../ui/toast.tsx'
import { useActiveAgents } from '../agents/agent-choices.ts'
import { useAskBeforeClosing } from './issued-keys.tsx'

/** The agent of the key, if preselected. */
interface Holder {
  readonly id: string
  readonly name: string
}

/** Issues a key. Its secret is shown once, even if the form is closed or left meanwhile. */
export function NewKey({
  isOpen,
  onClose,
  agent,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly agent?: Holder
}) {
  const title = agent ? `A key for ${agent.name || 'this agent'}` : 'New key'
  const isHere = useRef(false)
  useEffect(() => {
    isHere.current = true
    return () => void (isHere.current = false)
  }, [])
  const create = useChange(
    async (purser, wanted: NewApiKey) => {
      const show = expectKey()
      return { issued: await purser.apiKeys.create(wanted), show }
    },
    {
      onDone: ({ issued, show }) => {
        if (isHere.current) onClose()
        if (!show({ title, issued }))
          sayFailed('A key was issued, but you have signed out, so it is not shown. Revoke it under Keys.')
      },
      whenUnseen: 'No key was issued.',
    },
  )
  useAskBeforeClosing(create.isPending)
  function close() {
    create.reset()
    onClose()
  }
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <NewKeyForm onClose={close} create={create} agent={agent} />
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
  create,
  agent,
}: {
  readonly onClose: () => void
  readonly create: Pick<ReturnType<typeof useChange<NewApiKey, unknown>>, 'error' | 'isPending' | 'mutate'>
  readonly agent: Holder | undefined
}) {
  const { session, environment } = useSeen()
  const [role, setRole] = useState<NewApiKey['role']>('agent')
  const [label, setLabel] = useTyped('new-key.label', '')
  const [agentId, setAgentId] = useState(agent?.id ?? '')
  const agents = useActiveAgents({ isEnabled: agent === undefined, chosenId: agentId })
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
      onSubmit={() =>
        create.mutate({
          role,
          environment,
          label: label.trim() || null,
          ...(role === 'agent' ? { agent_id: agentId } : {}),
        })
      }
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
          hint={
            agents.areNone ? 'There is no active agent yet: create one first, under Agents.' : agents.hint
          }
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
