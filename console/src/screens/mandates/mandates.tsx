import type { ListConsoleMandatesQuery, ListedMandate } from '@purser/client'

import { useReadPages } from '../../api/queries.ts'
import { Go, usePath } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { BudgetBar } from '../../ui/budget-bar.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { When } from '../../ui/when.tsx'
import { given, useFilters } from '../filters.ts'
import { Screen } from '../screen.tsx'
import { statusNow } from './mandate-status.ts'
import { MandateMenu } from './mandate-menu.tsx'

const statusOptions = [
  { value: '', text: 'Every status' },
  { value: 'active', text: 'Active' },
  { value: 'paused', text: 'Paused' },
  { value: 'expired', text: 'Expired' },
  { value: 'revoked', text: 'Revoked' },
]

const columns: readonly Column<ListedMandate>[] = [
  {
    title: 'Purpose',
    isName: true,
    cell: (mandate) => (
      <>
        <Go to={`mandates/${mandate.id}`}>{mandate.purpose || 'No purpose given'}</Go>
        <div className="cell-sub">{mandate.agent_name}</div>
      </>
    ),
  },
  { title: 'Status', cell: (mandate) => <StatusBadge status={statusNow(mandate)} /> },
  {
    title: 'Budget',
    cell: (mandate) => (
      <div className="budget-cell">
        <BudgetBar
          label={`Budget of ${mandate.purpose}`}
          spent={mandate.spent_total}
          held={mandate.held_total}
          total={mandate.max_spend_total}
        />
        <span className="cell-sub">
          <Amount value={mandate.spent_total} /> of <Amount value={mandate.max_spend_total} />
        </span>
      </div>
    ),
  },
  { title: 'Left', figures: true, cell: (mandate) => <Amount value={mandate.remaining_budget} /> },
  {
    title: 'Cap',
    figures: true,
    isMinor: true,
    cell: (mandate) => <Amount value={mandate.max_spend_per_transaction} />,
  },
  { title: 'Expires', isMinor: true, cell: (mandate) => <When at={mandate.expires_at} /> },
  { title: 'Acts', isActions: true, cell: (mandate) => <MandateMenu mandate={mandate} /> },
]

/** Every budget, how much of it is gone, and the ways to stop it. */
export function Mandates() {
  const { values, settled, set, isFiltered } = useFilters(['status', 'q', 'agent_id'])
  const path = usePath()
  const query = useReadPages(
    'mandates',
    (purser, cursor, signal) =>
      purser.console.mandates
        .list({ ...(given(settled) as ListConsoleMandatesQuery), ...(cursor ? { cursor } : {}) }, { signal })
        .page(),
    [settled],
  )
  return (
    <Screen
      title="Mandates"
      lead="What each agent may spend, on what, and until when."
      actions={
        <ButtonLink look="main" icon="plus" to={path('mandates/new')}>
          New mandate
        </ButtonLink>
      }
    >
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label="Purpose contains"
          type="search"
          value={values.q}
          onChange={(q) => set({ q })}
          maxLength={200}
        />
        <SelectField
          label="Status"
          value={values.status}
          onChange={(status) => set({ status })}
          options={statusOptions}
        />
        {values.agent_id && (
          <p className="small">
            Of one agent only. <Go to="mandates">Show all</Go>
          </p>
        )}
      </form>
      <Panel title="All mandates" flush isTitleHidden>
        <PagedTable
          label="Mandates"
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            isFiltered ? (
              <EmptyState icon="search" title="No mandate fits">
                Nothing matches these filters. <Go to="mandates">Show all mandates</Go>
              </EmptyState>
            ) : (
              <EmptyState
                icon="mandate"
                title="No mandate yet"
                action={
                  <ButtonLink look="main" icon="plus" to={path('mandates/new')}>
                    Create the first mandate
                  </ButtonLink>
                }
              >
                A mandate gives one agent a budget: a total, a cap for one payment, the sellers it may buy
                from, and an end. Without one an agent can buy nothing.
              </EmptyState>
            )
          }
        />
      </Panel>
    </Screen>
  )
}
