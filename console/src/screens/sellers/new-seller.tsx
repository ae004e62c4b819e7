import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useTyped } from '../../api/typed.ts'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { sayDone } from '../../ui/toast.tsx'

export function NewSeller({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="New seller" isOpen={isOpen} onClose={onClose}>
      <NewSellerForm onClose={onClose} />
    </Dialog>
  )
}

function NewSellerForm({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useTyped('new-seller.name', '')
  const [domain, setDomain] = useTyped('new-seller.domain', '')
  const create = useChange(
    (purser) => purser.sellers.create({ name: name.trim(), domain: domain.trim(), price_config: {} }),
    {
      onDone: () => {
        sayDone('Seller registered')
        onClose()
      },
    },
  )
  const faults = formFaults(create.error, ['name', 'domain'])
  return (
    <DialogForm
      action="Register seller"
      isWorking={create.isPending}
      failure={faults.rest}
      onClose={onClose}
      onSubmit={() => create.mutate(undefined)}
    >
      <TextField label="Name" value={name} onChange={setName} required error={faults.byField.name} />
      <TextField
        label="Domain"
        value={domain}
        onChange={setDomain}
        required
        spellCheck={false}
        hint="The domain that serves your goods, such as api.example.com. It can be registered only once, and cannot be changed."
        error={faults.byField.domain}
      />
    </DialogForm>
  )
}
