import type { ApprovalRequest, ApprovalStatus } from '@purser/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

import { useConnection } from '../../api/connection.tsx'
import { useReadPages } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { SelectField } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Minute } from '../../ui/when.tsx'
import { useAgentChoices } from '../agents/agent-choices.ts'
import { choiceFault, textOf, useFilters, withUnknown } from '../filters.ts'
import { Screen } from '../screen.tsx'
import { subjectOf } from './approval-words.ts'
import './approvals.css'
import { useKeysWithin } from './decide.ts'
import { WaitingRequest } from './waiting-request.tsx'

/** Refresh interval while the inbox is open; a change of the number that waits refreshes it at once. */
const refetchMs = 15_000

const statusOptions = [
  { value: '', text: 'Every status' },
  { value: 'pending', text: 'Pending' },
  { value: 'approved', text: 'Approved' },
  { value: 'consumed', text: 'Used' },
  { value: 'denied', text: 'Denied' },
  { value: 'expired', text: 'Expired' },
]

/** The inbox: what waits for a decision, and what was decided. */
export function Approvals() {
  return (
    <Screen
      title="Approvals"
      lead="Payments and increases that a person decides. Nothing is held while they wait."
    >
      <Inbox />
      <AllRequests />
    </Screen>
  )
}

/** The requests of a status, newest first. */
function useApprovalPages(status: string, options?: { readonly isEnabled?: boolean }) {
  return useReadPages<ApprovalRequest>(
    'approvals',
    (purser, cursor, signal) =>
      purser.approvals
        .list(
          {
            ...(status !== '' && { status: status as ApprovalStatus }),
            ...(cursor !== undefined && { cursor }),
          },
          { signal },
        )
        .page(),
    [status],
    { refetchMs, ...options },
  )
}

function Inbox() {
  const query = useApprovalPages('pending')
  const { pendingApprovals } = useConnection()
  const { environment } = useSeen()
  const queries = useQueryClient()
  const sum = useRef<HTMLParagraphElement>(null)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: [environment, 'approvals'] })
  }, [queries, environment, pendingApprovals])
  useKeysWithin(list, {
    j: () => moveFocus(list.current, 1),
    k: () => moveFocus(list.current, -1),
    ArrowDown: () => moveFocus(list.current, 1),
    ArrowUp: () => moveFocus(list.current, -1),
  })
  // The first to expire is the first to decide. The service lists the newest first.
  const waiting = (query.data?.pages.flatMap(({ items }) => items) ?? [])
    .toReversed()
    .toSorted((one, other) => Date.parse(one.expires_at) - Date.parse(other.expires_at))
  return (
    <Panel title="Waiting for a decision">
      {query.isPending && <Waiting lines={4} />}
      {query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <div className="stack">
          <p ref={sum} tabIndex={-1} role="status" className="quiet request-sum">
            {waiting.length === 0
              ? 'Nothing waits for you.'
              : query.hasNextPage
                ? `The newest ${counted(waiting.length, 'request')}. Others may expire sooner: show more, below. `
                : `${counted(waiting.length, 'request')}, soonest to expire first. `}
            {waiting.length > 0 && (
              <span className="keyboard-hint">
                Go from one to the next with <kbd>J</kbd> and <kbd>K</kbd>.
              </span>
            )}
          </p>
          <ul ref={list} className="requests" aria-label="Requests that wait">
            {waiting.map((approval) => (
              <li key={approval.id}>
                <WaitingRequest approval={approval} onDone={() => sum.current?.focus()} />
              </li>
            ))}
          </ul>
          {query.hasNextPage && (
            <div>
              <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
                Show more
              </Button>
            </div>
          )}
        </div>
      )}
    </Panel>
  )
}

/** Moves the focus to the next or previous card. */
function moveFocus(list: HTMLElement | null, by: number): void {
  const cards = [...(list?.querySelectorAll<HTMLElement>('.request') ?? [])]
  const current = cards.findIndex((card) => card.contains(document.activeElement))
  cards[Math.min(Math.max(current + by, 0), cards.length - 1)]?.focus()
}

function AllRequests() {
  const { values, set } = useFilters(['status'])
  const agents = useAgentChoices()
  const fault = choiceFault('status', statusOptions, values.status)
  const query = useApprovalPages(values.status, { isEnabled: fault === undefined })
  const columns: readonly Column<ApprovalRequest>[] = [
    {
      title: 'Request',
      isName: true,
      cell: (approval) => <Go to={`approvals/${approval.id}`}>{subjectOf(approval)}</Go>,
    },
    {
      title: 'Agent',
      cell: ({ agent_id }) => <Go to={`agents/${agent_id}`}>{textOf(agents.options, agent_id)}</Go>,
    },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Requested', figures: true, cell: ({ requested_at }) => <Minute at={requested_at} /> },
  ]
  return (
    <Panel
      title="All requests"
      flush
      aside={
        <div className="request-filter">
          <SelectField
            label="Status"
            value={values.status}
            onChange={(status) => set({ status })}
            options={withUnknown(statusOptions, values.status)}
          />
        </div>
      }
    >
      {fault === undefined ? (
        <PagedTable
          label="Approvals"
          noun="request"
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            values.status === '' ? (
              <EmptyState icon="approval" title="No requests yet">
                A mandate can ask a person to approve payments above an amount, first purchases from a seller,
                or what exceeds a limit. Agents can also ask for more budget.
              </EmptyState>
            ) : (
              <EmptyState icon="search" title="No requests with this status">
                Choose another status to see more.
              </EmptyState>
            )
          }
        />
      ) : (
        <EmptyState icon="search" title="This filter does not work">
          {fault}
        </EmptyState>
      )}
    </Panel>
  )
}
