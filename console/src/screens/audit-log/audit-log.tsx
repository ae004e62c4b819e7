import type { AuditEvent, ListAuditEventsQuery } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { Identifier } from '../../ui/code.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { When } from '../../ui/when.tsx'
import { given, useFilters } from '../filters.ts'
import { Screen } from '../screen.tsx'

/** What each type of event means, in a person's words. */
const words: Record<AuditEvent['type'], string> = {
  'payment.verified': 'Payment charged',
  'account.created': 'Account created',
  'api_key.created': 'Key issued',
  'api_key.revoked': 'Key revoked',
  'agent.created': 'Agent created',
  'agent.revoked': 'Agent revoked',
  'mandate.created': 'Mandate created',
  'mandate.paused': 'Mandate paused',
  'mandate.resumed': 'Mandate resumed',
  'mandate.revoked': 'Mandate revoked',
  'seller.created': 'Seller registered',
  'agents.stopped': 'All agents stopped',
  'agents.resumed': 'Stopped agents resumed',
  'session.started': 'Signed in to the console',
  'session.ended': 'Signed out of the console',
}

const columns: readonly Column<AuditEvent>[] = [
  {
    title: 'What happened',
    isName: true,
    cell: (event) => (
      <>
        <strong>{words[event.type] ?? event.type}</strong>
        <div className="cell-sub">
          <Subject event={event} />
        </div>
      </>
    ),
  },
  { title: 'By', cell: ({ actor }) => (actor === 'system' ? 'The service' : <Identifier id={actor} />) },
  {
    title: 'Details',
    isMinor: true,
    cell: ({ data }) =>
      Object.keys(data).length > 0 && (
        <details>
          <summary className="small">Show</summary>
          <pre className="audit-data small">{JSON.stringify(data, null, 2)}</pre>
        </details>
      ),
  },
  { title: 'When', figures: true, cell: ({ created_at }) => <When at={created_at} /> },
]

/** Every change of state, by whom and when; it cannot be changed. */
export function AuditLog() {
  const { values, settled, set, isFiltered } = useFilters(['type', 'subject_id'])
  const query = useReadPages(
    'audit-log',
    (purser, cursor, signal) =>
      purser.auditLog
        .list({ ...(given(settled) as ListAuditEventsQuery), ...(cursor ? { cursor } : {}) }, { signal })
        .page(),
    [settled],
  )
  return (
    <Screen
      title="Audit log"
      lead="Every change, by whom and when. It is written with the change, and stays."
    >
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <SelectField
          label="What happened"
          value={values.type}
          onChange={(type) => set({ type })}
          options={[
            { value: '', text: 'Everything' },
            ...Object.entries(words).map(([value, text]) => ({ value, text })),
          ]}
        />
        <TextField
          label="About (identifier)"
          value={values.subject_id}
          onChange={(subject_id) => set({ subject_id: subject_id.trim() })}
          spellCheck={false}
        />
      </form>
      <Panel title="Events" flush isTitleHidden>
        <PagedTable
          label="Audit log"
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState icon="audit" title={isFiltered ? 'No event fits' : 'Nothing happened yet'}>
              {isFiltered ? (
                <Go to="audit-log">Show everything</Go>
              ) : (
                'Creating an agent, pausing a mandate, a charge: each leaves an event here.'
              )}
            </EmptyState>
          }
        />
      </Panel>
    </Screen>
  )
}

/** Leads to what the event is about, where there is a screen for it. */
function Subject({ event: { type, subject_id } }: { readonly event: AuditEvent }) {
  const [kind] = type.split('.')
  if (kind === 'agent') return <Go to={`agents/${subject_id}`}>{subject_id}</Go>
  if (kind === 'mandate') return <Go to={`mandates/${subject_id}`}>{subject_id}</Go>
  if (kind === 'payment') return <Go to={`transactions/${subject_id}`}>{subject_id}</Go>
  return <Identifier id={subject_id} />
}
