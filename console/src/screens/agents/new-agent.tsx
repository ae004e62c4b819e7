import { useState } from 'react'
import { useNavigate } from 'react-router'

import { explainFailure, faultsByField } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { usePath } from '../../shell/go.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { sayDone } from '../../ui/toast.tsx'

export function NewAgent({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="New agent" isOpen={isOpen} onClose={onClose}>
      <NewAgentForm onClose={onClose} />
    </Dialog>
  )
}

function NewAgentForm({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [capabilities, setCapabilities] = useState('')
  const navigate = useNavigate()
  const path = usePath()
  const create = useChange(
    (purser) =>
      purser.agents.create({
        name: name.trim(),
        description: description.trim() || null,
        capabilities: capabilities.split(/[\s,]+/).filter((one) => one !== ''),
      }),
    {
      showsFailure: false,
      onDone: (agent) => {
        sayDone('The agent is created')
        void navigate(path(`agents/${agent.id}`))
      },
    },
  )
  const faults: Partial<Record<string, string>> = faultsByField(create.error)
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate(undefined)
      }}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        placeholder="research-bot"
        error={faults['name']}
      />
      <TextField
        label="Description"
        value={description}
        onChange={setDescription}
        hint="Optional, for people."
      />
      <TextField
        label="Capabilities"
        value={capabilities}
        onChange={setCapabilities}
        hint="Optional words that merchants are told, such as: search, purchase."
      />
      {create.isError && <Notice tone="bad">{explainFailure(create.error)}</Notice>}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" type="submit" disabled={create.isPending}>
          Create agent
        </Button>
      </DialogActions>
    </form>
  )
}
