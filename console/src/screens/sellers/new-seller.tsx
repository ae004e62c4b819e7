import { useState } from 'react'

import { explainFailure, faultsByField } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { sayDone } from '../../ui/toast.tsx'

export function NewSeller({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="New seller" isOpen={isOpen} onClose={onClose}>
      <NewSellerForm onClose={onClose} />
    </Dialog>
  )
}

function NewSellerForm({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [domain, setDomain] = useState('')
  const create = useChange(
    (purser) => purser.sellers.create({ name: name.trim(), domain: domain.trim(), price_config: {} }),
    {
      showsFailure: false,
      onDone: () => {
        sayDone('The seller is registered')
        onClose()
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
      <TextField label="Name" value={name} onChange={setName} required error={faults['name']} />
      <TextField
        label="Domain"
        value={domain}
        onChange={setDomain}
        required
        spellCheck={false}
        placeholder="api.example.com"
        hint="Where your goods are served. It is registered once in an environment, and stays."
        error={faults['domain']}
      />
      {create.isError && <Notice tone="bad">{explainFailure(create.error)}</Notice>}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" type="submit" disabled={create.isPending}>
          Register seller
        </Button>
      </DialogActions>
    </form>
  )
}
