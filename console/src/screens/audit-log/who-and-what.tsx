import type { AuditEvent } from '@purser/client'
import { Fragment, type ReactNode } from 'react'

import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { Amount } from '../../ui/amount.tsx'
import { Identifier } from '../../ui/code.tsx'

type KeyNames = ReadonlyMap<string, string>

/** The actor: the key by its name, or the session of an identity provider sign-in. */
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

/** The subject, by its name if the event has it, with a link to its screen if there is one. */
export function Subject({ event, keyNames }: { readonly event: AuditEvent; readonly keyNames: KeyNames }) {
  const { subject_id } = event
  const name = nameIn(event) ?? keyNames.get(subject_id) ?? <Identifier id={subject_id} />
  if (event.type.startsWith('agents.')) return <Covered event={event} />
  const screen = screens.get(subject_id.split('_')[0] ?? '')
  return screen === undefined ? name : <Go to={`${screen}/${subject_id}`}>{name}</Go>
}

/** The screen of a record, by the prefix of its id. */
const screens = new Map([
  ['agent', 'agents'],
  ['mandate', 'mandates'],
  ['txn', 'transactions'],
  ['budget', 'budgets'],
  ['approval', 'approvals'],
])

/** Max linked mandates; the details list up to 100. */
const linkedMandates = 3

/** The extent of a stop or a resumption. */
function Covered({ event: { type, data } }: { readonly event: AuditEvent }) {
  const ids = Array.isArray(data['mandate_ids']) ? data['mandate_ids'].map(String) : []
  const count = Number(data['paused_mandates'] ?? data['resumed_mandates'] ?? 0)
  const failed = Number(data['failed_mandates'] ?? 0)
  const linked = ids.slice(0, linkedMandates)
  return (
    <>
      {type === 'agents.stopped'
        ? `${counted(count, 'mandate')} paused, ${counted(Number(data['voided_holds'] ?? 0), 'open proof')} ended`
        : `${counted(count, 'mandate')} resumed`}
      {failed > 0 && `, ${counted(failed, 'mandate')} not stopped yet`}
      {linked.length > 0 && ': '}
      {linked.map((id, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Go to={`mandates/${id}`}>
            <Identifier id={id} />
          </Go>
        </Fragment>
      ))}
      {count > linked.length &&
        linked.length > 0 &&
        ` and ${(count - linked.length).toLocaleString('en')} more`}
    </>
  )
}

function nameIn({ type, data }: AuditEvent): ReactNode {
  if (type === 'agent.created') return String(data['name'])
  if (type.startsWith('seller.')) return String(data['domain'])
  if (type !== 'payment.verified') return undefined
  return (
    <>
      <Amount value={String(data['amount'])} currency={String(data['currency'])} /> at{' '}
      {String(data['merchant_domain'])}
    </>
  )
}
