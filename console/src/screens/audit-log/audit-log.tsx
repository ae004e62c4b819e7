import type { AuditEvent, ListAuditEventsQuery } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import type { Column } from '../../ui/data-table.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { Minute } from '../../ui/when.tsx'
import { choiceFault, given, textOf, useFilters, withUnknown } from '../filters.ts'
import { useKeyNames } from '../keys/key-names.ts'
import { ListScreen } from '../list-screen.tsx'
import './audit-log.css'
import { Actor, Subject } from './who-and-what.tsx'

/** The display name of each event type. */
const words: Record<AuditEvent['type'], string> = {
  'payment.verified': 'Payment charged',
  'payment.authorized': 'Payment authorized',
  'payment.refunded': 'Payment refunded',
  'authorization.voided': 'Authorization voided',
  'account.created': 'Account created',
  'account.disabled': 'Account disabled',
  'account.enabled': 'Account enabled',
  'api_key.created': 'Key issued',
  'api_key.revoked': 'Key revoked',
  'agent.created': 'Agent created',
  'agent.revoked': 'Agent revoked',
  'mandate.created': 'Mandate created',
  'mandate.amended': 'Mandate changed',
  'approval.requested': 'Approval requested',
  'approval.approved': 'Approval given',
  'approval.denied': 'Approval denied',
  'approval.consumed': 'Approval used',
  'mandate.paused': 'Mandate paused',
  'mandate.resumed': 'Mandate resumed',
  'mandate.revoked': 'Mandate revoked',
  'limit.exceeded': 'Limit exceeded',
  'budget.created': 'Shared budget created',
  'budget.changed': 'Shared budget changed',
  'budget.frozen': 'Shared budget frozen',
  'budget.unfrozen': 'Shared budget unfrozen',
  'agent.budget_changed': 'Shared budget of an agent changed',
  'seller.created': 'Seller registered',
  'seller.released': 'Seller domain released',
  'seller.verified': 'Seller domain verified',
  'test_clock.advanced': 'Test clock advanced',
  'proof.voided': 'Proof voided',
  'proofs.voided': 'Open proofs voided',
  'agents.stopped': 'All agents stopped',
  'agents.resumed': 'Stopped agents resumed',
  'session.started': 'Signed in to the console',
  'session.ended': 'Console session ended',
}

const typeOptions = [
  { value: '', text: 'Everything' },
  ...Object.entries(words).map(([value, text]) => ({ value, text })),
]

/** The list of audit events. */
export function AuditLog() {
  const { values, settled, set, remove } = useFilters(['type', 'subject_id'])
  const fault = choiceFault('type of event', typeOptions, values.type)
  const keyNames = useKeyNames()
  const query = useReadPages(
    'audit-log',
    (purser, cursor, signal) =>
      purser.auditLog
        .list({ ...(given(settled) as ListAuditEventsQuery), ...(cursor ? { cursor } : {}) }, { signal })
        .page(),
    [settled],
    { isEnabled: fault === undefined },
  )
  const columns: readonly Column<AuditEvent>[] = [
    {
      title: 'What happened',
      isName: true,
      cell: (event) => (
        <>
          <strong>{words[event.type] ?? event.type}</strong>
          <div className="cell-sub">
            <Subject event={event} keyNames={keyNames} />
          </div>
        </>
      ),
    },
    { title: 'By', cell: ({ actor }) => <Actor actor={actor} keyNames={keyNames} /> },
    {
      title: 'Details',
      isMinor: true,
      cell: ({ data }) =>
        Object.keys(data).length > 0 && (
          <details>
            <summary className="audit-show small">Show</summary>
            <pre className="audit-data small">{JSON.stringify(data, null, 2)}</pre>
          </details>
        ),
    },
    { title: 'When', figures: true, cell: ({ created_at }) => <Minute at={created_at} /> },
  ]
  return (
    <ListScreen
      title="Audit log"
      lead="Every change, with who made it and when. Entries are permanent."
      noun="event"
      filters={{
        chips: [
          ...(values.type
            ? [{ label: 'What happened', value: textOf(typeOptions, values.type), names: ['type'] }]
            : []),
          ...(values.subject_id ? [{ label: 'About', value: values.subject_id, names: ['subject_id'] }] : []),
        ],
        fault: fault && `“${values.type}” is not a type of event. Choose one from the list.`,
        remove,
        fields: (
          <>
            <SelectField
              label="What happened"
              value={values.type}
              onChange={(type) => set({ type })}
              options={withUnknown(typeOptions, values.type)}
            />
            <TextField
              label="About (identifier)"
              value={values.subject_id}
              onChange={(subject_id) => set({ subject_id: subject_id.trim() })}
              spellCheck={false}
            />
          </>
        ),
      }}
      query={query}
      columns={columns}
      empty={
        <EmptyState icon="audit" title="No events yet">
          Creating an agent, pausing a mandate, a charge: each is recorded here.
        </EmptyState>
      }
    />
  )
}
