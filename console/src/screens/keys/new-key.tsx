import type { IssuedApiKey, NewApiKey } from '@purser/client'
import { useState } from 'react'

import { explainFailure } from '../../api/failures.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'

/** The agent that a key is for, where that is settled. */
interface Holder {
  readonly id: string
  readonly name: string
}

/** Issues a key, and shows its text this once. */
export function NewKey({
  isOpen,
  onClose,
  agent,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly agent?: Holder
}) {
  return (
    <Dialog title={agent ? `A key for ${agent.name}` : 'New key'} isOpen={isOpen} onClose={onClose}>
      <NewKeyForm onClose={onClose} agent={agent} />
    </Dialog>
  )
}

const roleWords: Partial<Record<NewApiKey['role'], string>> = {
  agent: 'Agent: asks for payments within its mandates',
  merchant: 'Merchant: verifies proofs and sees what it was paid',
  owner: 'Owner: everything in this account',
  operator: 'Operator: owner, and creates accounts',
}

/** Most agents that the form offers. */
const offeredAgents = 200

function NewKeyForm({
  onClose,
  agent,
}: {
  readonly onClose: () => void
  readonly agent: Holder | undefined
}) {
  const { session, environment } = useSeen()
  const [role, setRole] = useState<NewApiKey['role']>('agent')
  const [label, setLabel] = useState('')
  const [agentId, setAgentId] = useState(agent?.id ?? '')
  const [issued, setIssued] = useState<IssuedApiKey>()
  const agents = useRead(
    'agents-to-choose',
    (purser, signal) => purser.agents.list({ limit: 200 }, { signal }).toArray({ limit: offeredAgents }),
    { isEnabled: agent === undefined },
  )
  const create = useChange(
    (purser) =>
      purser.apiKeys.create({
        role,
        environment,
        label: label.trim() || null,
        ...(role === 'agent' ? { agent_id: agentId } : {}),
      }),
    { showsFailure: false, onDone: setIssued },
  )
  if (issued) return <IssuedOnce issued={issued} onClose={onClose} />

  const roles = (['agent', 'merchant', 'owner', 'operator'] as const).filter(
    (one) => one !== 'operator' || session.role === 'operator',
  )
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate(undefined)
      }}
    >
      {!agent && (
        <SelectField
          label="Role"
          value={role}
          onChange={(value) => setRole(roles.find((one) => one === value) ?? 'agent')}
          options={roles.map((value) => ({ value, text: roleWords[value] ?? value }))}
        />
      )}
      {!agent && role === 'agent' && (
        <SelectField
          label="Agent"
          required
          value={agentId}
          onChange={setAgentId}
          options={[
            { value: '', text: 'Choose an agent' },
            ...(agents.data ?? [])
              .filter(({ status }) => status === 'active')
              .map(({ id, name }) => ({ value: id, text: name })),
          ]}
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
      />
      {create.isError && <Notice tone="bad">{explainFailure(create.error)}</Notice>}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" type="submit" disabled={create.isPending}>
          Issue {environment} key
        </Button>
      </DialogActions>
    </form>
  )
}

function IssuedOnce({ issued, onClose }: { readonly issued: IssuedApiKey; readonly onClose: () => void }) {
  return (
    <div className="stack">
      <Notice tone="good">
        The key is issued. It is shown this once: keep it now, where secrets are kept.
      </Notice>
      <CodeBlock label="Key" text={issued.key} />
      <DialogActions>
        <Button look="main" onClick={onClose}>
          I have kept it
        </Button>
      </DialogActions>
    </div>
  )
}
