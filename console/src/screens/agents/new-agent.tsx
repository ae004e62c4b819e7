import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useTyped } from '../../api/typed.ts'
import { useGoWhileOpen } from '../../shell/go.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { sayDone } from '../../ui/toast.tsx'

export function NewAgent({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="New agent" isOpen={isOpen} onClose={onClose}>
      <NewAgentForm onClose={onClose} />
    </Dialog>
  )
}

function NewAgentForm({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useTyped('new-agent.name', '')
  const [description, setDescription] = useTyped('new-agent.description', '')
  const [capabilities, setCapabilities] = useTyped('new-agent.capabilities', '')
  const go = useGoWhileOpen()
  const create = useChange(
    (purser) =>
      purser.agents.create({
        name: name.trim(),
        description: description.trim() || null,
        capabilities: capabilities.split(/[\s,]+/).filter((one) => one !== ''),
      }),
    {
      onDone: (agent) => {
        sayDone('Agent created')
        go(`agents/${agent.id}`)
      },
    },
  )
  const faults = formFaults(create.error, ['name', 'description', 'capabilities'])
  return (
    <DialogForm
      action="Create agent"
      isWorking={create.isPending}
      failure={faults.rest}
      onClose={onClose}
      onSubmit={() => create.mutate(undefined)}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        hint="Such as research-bot."
        error={faults.byField.name}
      />
      <TextField
        label="Description"
        value={description}
        onChange={setDescription}
        hint="Optional: what does it do?"
        error={faults.byField.description}
      />
      <TextField
        label="Capabilities"
        value={capabilities}
        onChange={setCapabilities}
        hint="Optional keywords shown to merchants, such as: search, purchase."
        error={faults.byField.capabilities}
      />
    </DialogForm>
  )
}
