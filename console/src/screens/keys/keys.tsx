import type { ListedApiKey } from '@purser/client'
import { useState } from 'react'

import { useChange, useReadPages } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { RealWhen } from '../../ui/when.tsx'
import { useAddressFlag } from '../address-flag.ts'
import { ListScreen } from '../list-screen.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { nameOfKey } from './key-names.ts'
import { NewKey } from './new-key.tsx'

const columns: readonly Column<ListedApiKey>[] = [
  {
    title: 'Key',
    isName: true,
    cell: (key) => (
      <>
        <strong className="two-lines">{nameOfKey(key)}</strong>
        <div className="cell-sub">
          <code>
            {key.environment === 'sandbox' ? 'svc_sand_' : 'svc_prod_'}…{key.hint}
          </code>
        </div>
      </>
    ),
  },
  {
    title: 'Role',
    cell: (key) => (
      <>
        {key.role}
        {key.agent_name !== null && <div className="cell-sub two-lines">{key.agent_name}</div>}
      </>
    ),
  },
  {
    title: 'Environment',
    cell: ({ environment }) => (
      <Badge tone={environment === 'sandbox' ? 'warn' : 'accent'}>{environment}</Badge>
    ),
  },
  { title: 'Status', cell: (key) => <StatusBadge status={key.revoked_at === null ? 'active' : 'revoked'} /> },
  {
    title: 'Last used',
    cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <RealWhen at={last_used_at} />),
  },
  { title: 'Issued', isMinor: true, cell: ({ created_at }) => <RealWhen at={created_at} /> },
  {
    title: 'Actions',
    isActions: true,
    cell: (key) =>
      key.revoked_at === null && (
        <OwnersOnly>
          <KeyMenu apiKey={key} />
        </OwnersOnly>
      ),
  },
]

/** The list of keys, where keys are issued, shown once, and revoked. */
export function Keys() {
  const issuing = useAddressFlag('new')
  const query = useReadPages('api-keys', (purser, cursor, signal) =>
    purser.console.apiKeys.list(cursor ? { cursor } : {}, { signal }).page(),
  )
  const issue = (
    <OwnersOnly>
      <Button look="main" icon="plus" onClick={issuing.set}>
        New key
      </Button>
    </OwnersOnly>
  )
  return (
    <ListScreen
      title="Keys"
      lead="Keys for calling the service, in both environments. An agent’s key can only spend within its mandates."
      actions={issue}
      noun="key"
      query={query}
      columns={columns}
      empty={
        <EmptyState icon="key" title="No keys yet" action={issue}>
          Agents and merchants call the service with keys of their own.
        </EmptyState>
      }
    >
      <OwnersOnly>
        <NewKey isOpen={issuing.isSet} onClose={issuing.clear} />
      </OwnersOnly>
    </ListScreen>
  )
}

function KeyMenu({ apiKey }: { readonly apiKey: ListedApiKey }) {
  const { session } = useSeen()
  const [isOpen, setOpen] = useState(false)
  const revoke = useChange((purser) => purser.apiKeys.revoke(apiKey.id), {
    onDone: () => {
      setOpen(false)
      sayDone('Key revoked')
    },
    whenUnseen: `Not revoked: the key ending in ${apiKey.hint}.`,
  })
  return (
    <>
      <Menu label={`Actions for the key ending in ${apiKey.hint}`}>
        <MenuItem icon="stop" isDangerous onClick={() => setOpen(true)}>
          Revoke…
        </MenuItem>
      </Menu>
      <ConfirmByTyping
        title="Revoke this key?"
        word={apiKey.hint}
        action="Revoke permanently"
        endsButton
        isOpen={isOpen}
        change={revoke}
        onClose={() => setOpen(false)}
        onConfirm={() => revoke.mutate(undefined)}
      >
        <p>
          Requests with the {apiKey.role} key ending in <code>{apiKey.hint}</code> are refused from then on.
        </p>
        {apiKey.id === session.key_id && <p>You signed in with it: this session ends with the key.</p>}
      </ConfirmByTyping>
    </>
  )
}
