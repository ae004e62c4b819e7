import type { MandateDetail } from '@purser/client'
import { useParams } from 'react-router'

import { useNow } from '../../api/connection.tsx'
import { useRead } from '../../api/queries.ts'
import { SpendChart } from '../../charts/spend-chart.tsx'
import { Go, usePath } from '../../shell/go.tsx'
import { readMicro } from '../../text/amounts.ts'
import { counted, secondsInWords } from '../../text/counts.ts'
import { approvalInWords } from '../../text/terms.ts'
import { localTimeZone } from '../../text/times.ts'
import { Amount } from '../../ui/amount.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { BudgetBar } from '../../ui/budget-bar.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CopyableIdentifier, Identifier } from '../../ui/code.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Moment, When } from '../../ui/when.tsx'
import { OwnersOnly } from '../owners-only.tsx'
import { Screen } from '../screen.tsx'
import { TransactionTable } from '../transactions/transaction-table.tsx'
import { WhenRead } from '../when-read.tsx'
import { Allowed } from './allowed.tsx'
import { categoryRule, enforcedCategoryRule } from './category-rule.ts'
import { MandateMenu, usePauseAndResume } from './mandate-menu.tsx'
import { MandateLimits } from './mandate-limits.tsx'
import { MandateVersions } from './mandate-versions.tsx'
import { isOver, moveOf, statusNow } from './mandate-status.ts'

/** Refresh interval of an open screen. */
const refetchMs = 10_000

const above = <Go to="mandates">Mandates</Go>

/** One mandate: its spend, its transactions, and its open holds. */
export function Mandate() {
  const { id = '' } = useParams()
  const query = useRead('mandate', (purser, signal) => purser.console.mandates.get(id, { signal }), {
    parameters: [id],
    refetchMs,
  })
  return (
    <WhenRead query={query} title="Mandate" above={above}>
      {(mandate) => <MandateScreen mandate={mandate} />}
    </WhenRead>
  )
}

function MandateScreen({ mandate }: { readonly mandate: MandateDetail }) {
  const nowMs = useNow()()
  const { pause, resume } = usePauseAndResume(mandate)
  const path = usePath()
  const name = mandate.purpose || 'Mandate without purpose'
  return (
    <Screen
      title={name}
      heading={
        <>
          {name} <StatusBadge status={statusNow(mandate, nowMs)} />
          {mandate.is_stopped && !isOver(mandate, nowMs) && (
            <Badge tone="bad" icon="stop">
              stopped with all agents
            </Badge>
          )}
        </>
      }
      above={above}
      lead={
        <>
          For <Go to={`agents/${mandate.agent_id}`}>{mandate.agent_name}</Go>
        </>
      }
      actions={
        <>
          <OwnersOnly>
            {moveOf(mandate) === 'pause' && (
              <Button icon="pause" onClick={() => pause.mutate(undefined)} disabled={pause.isPending}>
                Pause
              </Button>
            )}
            {moveOf(mandate) === 'resume' && (
              <Button icon="play" onClick={() => resume.mutate(undefined)} disabled={resume.isPending}>
                Resume
              </Button>
            )}
          </OwnersOnly>
          {mandate.status !== 'revoked' && (
            <ButtonLink icon="edit" to={path(`mandates/${mandate.id}/edit`)}>
              Edit
            </ButtonLink>
          )}
          <MandateMenu mandate={mandate} />
        </>
      }
    >
      <Panel title="Budget">
        <div className="stack">
          <BudgetBar {...mandate} />
          {mandate.is_agent_revoked && <p>Its agent is revoked, so no more payments are approved.</p>}
          <Facts>
            <Fact name="Total">
              <Amount value={mandate.max_spend_total} currency={mandate.currency} />
            </Fact>
            <Fact name="Spent" mark="paid">
              <Amount value={mandate.spent_total} currency={mandate.currency} />
            </Fact>
            <Fact name="Unspent">
              {isOver(mandate, nowMs) ? (
                '–'
              ) : (
                <Amount value={mandate.remaining_budget} currency={mandate.currency} />
              )}
            </Fact>
            <Fact
              name={isOver(mandate, nowMs) ? 'Held by open proofs' : 'Of that, held by open proofs'}
              mark="held"
            >
              <Amount value={mandate.held_total} currency={mandate.currency} />
            </Fact>
            {readMicro(mandate.authorized_total) !== 0n && (
              <Fact
                name={`${isOver(mandate, nowMs) ? 'Authorized' : 'Of that, authorized'}, to be captured by merchants`}
                mark="held"
              >
                <Amount value={mandate.authorized_total} currency={mandate.currency} />
              </Fact>
            )}
          </Facts>
        </div>
      </Panel>
      <MandateLimits mandate={mandate} />
      <Panel title={`Spent over the last ${days} days`}>
        <Spend mandate={mandate} />
      </Panel>
      <Panel title="Terms">
        <Facts>
          <Fact name="Cap per payment">
            <Amount value={mandate.max_spend_per_transaction} currency={mandate.currency} />
          </Fact>
          <Fact name="Expires">
            <Moment at={mandate.expires_at} />{' '}
            <span className="quiet">
              (<When at={mandate.expires_at} />)
            </span>
          </Fact>
          <Fact name="Created">
            <Moment at={mandate.created_at} />
          </Fact>
          <Fact name="Capture after authorization">within {secondsInWords(mandate.max_capture_seconds)}</Fact>
          <Fact name="Sellers" isWide>
            <Allowed
              entries={mandate.allowed_sellers}
              all="Every seller (*)"
              none="None: every payment is denied"
            />
          </Fact>
          <Fact name="Categories" isWide>
            <Allowed entries={mandate.allowed_categories} all="Every category" none="Every category" />
            {(mandate.allowed_categories.length > 0 || mandate.category_check === 'enforced') && (
              <p className="quiet small">
                {mandate.category_check === 'enforced' ? enforcedCategoryRule : categoryRule}
              </p>
            )}
          </Fact>
          {mandate.allowed_resources.length > 0 && (
            <Fact name="URLs" isWide>
              <Allowed entries={mandate.allowed_resources} all="Every URL" none="Every URL" />
            </Fact>
          )}
          <Approval mandate={mandate} />
          <Metadata metadata={mandate.metadata} />
          <Fact name="Version">{mandate.version}</Fact>
          <Fact name="Identifier" isWide>
            <CopyableIdentifier id={mandate.id} />
          </Fact>
        </Facts>
      </Panel>
      <MandateVersions mandate={mandate} />
      <Panel title={holdsTitle(mandate.open_holds.length)} flush={mandate.open_holds.length > 0}>
        <Holds holds={mandate.open_holds} />
      </Panel>
      <Panel
        title="Transactions"
        flush
        aside={
          <span className="quiet small">
            {counted(mandate.paid_count, 'payment')}, {counted(mandate.denied_count, 'denial')} ·{' '}
            <Go to={`transactions?mandate_id=${mandate.id}`}>Filter and export</Go>
          </span>
        }
      >
        <TransactionTable
          context="mandate"
          filters={{ mandate_id: mandate.id }}
          empty={<p className="panel-note">No requests for this mandate yet.</p>}
        />
      </Panel>
    </Screen>
  )
}

function Approval({ mandate: { approval } }: { readonly mandate: MandateDetail }) {
  const words = approval ? approvalInWords(approval) : ''
  if (words === '') return null
  return (
    <Fact name="Approval by a person" isWide>
      Needed {words}
    </Fact>
  )
}

function Metadata({ metadata }: Pick<MandateDetail, 'metadata'>) {
  const entries = Object.entries(metadata)
  if (entries.length === 0) return null
  return (
    <Fact name="Metadata" isWide>
      <ul>
        {entries.map(([key, value]) => (
          <li key={key}>
            <code>{key}</code>: {value}
          </li>
        ))}
      </ul>
    </Fact>
  )
}

const days = 30
function Spend({ mandate }: { readonly mandate: MandateDetail }) {
  const nowMs = useNow()()
  const time_zone = localTimeZone()
  const spend = useRead(
    'spend',
    (purser, signal) =>
      purser.console.mandates.spend(mandate.id, { step: 'day', time_zone, buckets: days }, { signal }),
    { parameters: [mandate.id, time_zone], refetchMs },
  )
  if (spend.isPending) return <Waiting />
  if (spend.isError) return <Failed error={spend.error} onRetry={() => void spend.refetch()} />
  return <SpendChart spend={spend.data} total={mandate.max_spend_total} untilMs={nowMs} />
}

const holdColumns: readonly Column<MandateDetail['open_holds'][number]>[] = [
  { title: 'For', isName: true, cell: ({ resource }) => resource },
  {
    title: 'Amount',
    figures: true,
    cell: ({ amount, currency }) => <Amount value={amount} currency={currency} />,
  },
  { title: 'Asked for', cell: ({ issued_at }) => <When at={issued_at} /> },
  {
    title: 'Ends',
    cell: ({ status, expires_at }) => (
      <>
        {status === 'voided' && 'Void; holds its amount until at most '}
        <When at={expires_at} />
      </>
    ),
  },
  { title: 'Nonce', isMinor: true, cell: ({ nonce }) => <Identifier id={nonce} /> },
]

/** Max open holds that the service lists. */
const maxHolds = 100

function holdsTitle(count: number): string {
  return `Open holds (${count < maxHolds ? count : `the first ${maxHolds} to end`})`
}

function Holds({ holds }: { readonly holds: MandateDetail['open_holds'] }) {
  if (holds.length === 0) {
    return <p className="quiet">Nothing is held. A proof holds its amount until it is charged or expires.</p>
  }
  return <DataTable label="Open holds" rows={holds} rowKey={({ nonce }) => nonce} columns={holdColumns} />
}
