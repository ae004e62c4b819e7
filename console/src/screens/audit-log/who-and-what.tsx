import type { AuditEvent } from '@purser/client'
import type { ReactNode } from 'react'

import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { Identifier } from '../../ui/code.tsx'

type KeyNames = ReadonlyMap<string, string>

/** Who did it: the key by its name, or the session of who signed in at the identity provider. */
export function Actor({ actor, keyNames }: { readonly actor: string; readonly keyNames: KeyNames }) {
  if (actor === 'system') return 'The service'
  const name = keyNames.get(actor)
  return (
    <>
      {name}
      <div className={name === undefined ? undefined : 'cell-sub'}>
        <Identifier id={actor} />
      </div>
    </>
  )
}

/** What it is about, by its name where the event carries it, and the way to its screen where there is one. */
export function Subject({ event, keyNames }: { readonly event: AuditEvent; readonly keyNames: KeyNames }) {
  const { type, subject_id } = event
  const name = nameIn(event) ?? keyNames.get(subject_id) ?? <Identifier id={subject_id} />
  const [kind] = type.split('.')
  if (kind === 'agent') return <Go to={`agents/${subject_id}`}>{name}</Go>
  if (kind === 'mandate') return <Go to={`mandates/${subject_id}`}>{name}</Go>
  if (kind === 'payment') return <Go to={`transactions/${subject_id}`}>{name}</Go>
  return name
}

function nameIn({ type, data }: AuditEvent): ReactNode {
  if (type === 'agent.created') return String(data['name'])
  if (type === 'seller.created') return String(data['domain'])
  if (type !== 'payment.verified') return undefined
  return (
    <>
      <Amount value={String(data['amount'])} currency={String(data['currency'])} /> at{' '}
      {String(data['merchant_domain'])}
    </>
  )
}
