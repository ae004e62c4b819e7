import type { ApprovalRequest, MandateDetail } from '@purser/client'
import { useEffect, useRef } from 'react'
import { useParams } from 'react-router'

import { useRead } from '../../api/queries.ts'
import { useTyped } from '../../api/typed.ts'
import { Go } from '../../shell/go.tsx'
import { amountInWords, readSignedMicro, writeMicro } from '../../text/amounts.ts'
import { Amount } from '../../ui/amount.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { CopyableIdentifier, Identifier } from '../../ui/code.tsx'
import { TextField } from '../../ui/field.tsx'
import { Fact, Facts, Panel } from '../../ui/panel.tsx'
import { Moment } from '../../ui/when.tsx'
import { useKeyNames } from '../keys/key-names.ts'
import { Screen } from '../screen.tsx'
import { CheckLadder } from '../transactions/check-ladder.tsx'
import { WhenRead } from '../when-read.tsx'
import { outcomeOf, progressOf, reasonToAsk, subjectOf } from './approval-words.ts'
import './approvals.css'
import { useDecide, useKeysWithin } from './decide.ts'
import { DecisionButtons, useChoices } from './decision-buttons.tsx'
import { IncreasedTerms } from './increased-terms.tsx'
import { TimeLeft } from './time-left.tsx'

/** Refresh interval while a request can still change. */
const refetchMs = 5_000

const maxNote = 1_000

const above = <Go to="approvals">Approvals</Go>

/** One request: what is asked for and why, the checks, and the decision. */
export function Approval() {
  const { id = '' } = useParams()
  const query = useRead('approval', (purser, signal) => purser.approvals.get(id, { signal }), {
    parameters: [id],
    refetchMs: (latest) => (latest?.status === 'pending' || latest?.status === 'approved' ? refetchMs : 0),
  })
  return (
    <WhenRead query={query} title="Approval" above={above}>
      {(approval) => <ApprovalScreen key={approval.id} approval={approval} />}
    </WhenRead>
  )
}

function ApprovalScreen({ approval }: { readonly approval: ApprovalRequest }) {
  const { mandate_id, kind, status } = approval
  const { data: mandate } = useRead(
    'mandate',
    (purser, signal) => purser.console.mandates.get(mandate_id, { signal }),
    { parameters: [mandate_id] },
  )
  return (
    <Screen
      title={subjectOf(approval)}
      heading={
        <>
          <span className="breakable">{subjectOf(approval)}</span> <StatusBadge status={status} />
        </>
      }
      above={above}
    >
      <Decision approval={approval} mandate={mandate} />
      <div className="columns">
        {kind === 'payment' ? <Checks approval={approval} /> : <Increase approval={approval} />}
        <div className="stack">
          <Panel title="Details">
            <Details approval={approval} mandate={mandate} />
          </Panel>
          {approval.decisions.length > 0 && (
            <Panel title="Decisions">
              <Decisions approval={approval} />
            </Panel>
          )}
        </div>
      </div>
    </Screen>
  )
}

interface Shown {
  readonly approval: ApprovalRequest
  readonly mandate: MandateDetail | undefined
}

/** The decision. It has the focus from the start, so that one key decides. */
function Decision({ approval, mandate }: Shown) {
  const [note, setNote] = useTyped(`approval.${approval.id}.note`, '')
  const box = useRef<HTMLDivElement>(null)
  const choices = useChoices(
    approval,
    mandate,
    useDecide(approval, () => box.current?.focus()),
    note,
  )
  useKeysWithin(box, choices.keys)
  useEffect(() => {
    // After the frame has focused the content.
    const frame = requestAnimationFrame(() => box.current?.focus({ preventScroll: true }))
    return () => cancelAnimationFrame(frame)
  }, [])
  const progress = progressOf(approval)
  return (
    <Panel title="Decision">
      <div ref={box} tabIndex={-1} role="group" aria-label="Decision" className="stack decision">
        <p className="row">
          <strong>{reasonToAsk(approval, mandate)}</strong>
          {progress !== '' && <Badge tone="accent">{progress}</Badge>}
        </p>
        {approval.reason.message !== null && (
          <blockquote className="breakable">{approval.reason.message}</blockquote>
        )}
        {approval.status === 'pending' ? (
          <>
            <p>
              <TimeLeft at={approval.expires_at} />
              {mandate && <Effect approval={approval} mandate={mandate} />}
            </p>
            <TextField
              label="Note (optional)"
              hint="Kept with the decision, in the audit log."
              value={note}
              onChange={setNote}
              maxLength={maxNote}
            />
            <DecisionButtons {...choices} />
          </>
        ) : (
          <p role="status">{outcomeOf(approval)}</p>
        )}
      </div>
    </Panel>
  )
}

/** What a payment would leave of the budget. */
function Effect({
  approval: { amount },
  mandate,
}: Pick<Shown, 'approval'> & { readonly mandate: MandateDetail }) {
  if (amount === null) return null
  const free =
    readSignedMicro(mandate.remaining_budget) -
    readSignedMicro(mandate.held_total) -
    readSignedMicro(mandate.authorized_total)
  const left = free - readSignedMicro(amount)
  const total = amountInWords(mandate.max_spend_total)
  return left >= 0n
    ? `. After this payment, ${amountInWords(writeMicro(left))} of ${total} USDC are left in the mandate.`
    : `. Only ${amountInWords(writeMicro(free))} of ${total} USDC are left in the mandate, so the payment is refused even if you approve it.`
}

/** The checks of the refusal that asked; only the first ten of a mandate and minute are recorded. */
function Checks({ approval }: Pick<Shown, 'approval'>) {
  const { mandate_id, amount, resource_url, requested_at } = approval
  const { data: refusal } = useRead(
    'approval-checks',
    async (purser, signal) => {
      const { items } = await purser.console.transactions
        .list(
          {
            mandate_id,
            reason_code: 'approval_required',
            created_from: requested_at,
            created_before: new Date(Date.parse(requested_at) + 1_000).toISOString(),
          },
          { signal },
        )
        .page()
      const asked = items.findLast((one) => one.amount === amount && one.resource_url === resource_url)
      return asked ? purser.console.transactions.get(asked.id, { signal }) : null
    },
    { parameters: [approval.id] },
  )
  return (
    <Panel title="The checks">
      {refusal?.checks.some(({ state }) => state === 'passed') ? (
        <CheckLadder checks={refusal.checks} checkedAt={refusal.checked_at} />
      ) : (
        <p className="quiet">All other checks passed when the agent asked. They run again when it pays.</p>
      )}
    </Panel>
  )
}

/** The terms before and after. Those before are kept as a version of the mandate. */
function Increase({ approval }: Pick<Shown, 'approval'>) {
  const { mandate_id, mandate_version, change } = approval
  const { data: versions } = useRead(
    'mandate-versions',
    (purser, signal) =>
      purser.mandates.versions(mandate_id, { limit: 200 }, { signal }).toArray({ limit: 200 }),
    { parameters: [mandate_id] },
  )
  return (
    <Panel title="Terms">
      <IncreasedTerms change={change} before={versions?.find(({ version }) => version === mandate_version)} />
    </Panel>
  )
}

function Details({ approval, mandate }: Shown) {
  const { agent_id, mandate_id, amount, resource_url, required, requested_by, nonce } = approval
  const keyNames = useKeyNames()
  return (
    <Facts>
      {amount !== null && (
        <Fact name="Amount">
          <Amount value={amount} currency="USDC" />
        </Fact>
      )}
      <Fact name="Agent">
        <Go to={`agents/${agent_id}`}>{mandate ? mandate.agent_name || 'Unnamed agent' : agent_id}</Go>
      </Fact>
      <Fact name="Mandate">
        <Go to={`mandates/${mandate_id}`}>{mandate ? mandate.purpose || 'No purpose given' : mandate_id}</Go>
      </Fact>
      <Fact name="Approvals needed">{required}</Fact>
      {resource_url !== null && (
        <Fact name="Resource" isWide>
          {resource_url}
        </Fact>
      )}
      <Fact name="Requested by" isWide>
        {keyNames.get(requested_by) ?? <Identifier id={requested_by} />}
      </Fact>
      <Fact name="Requested" isWide>
        <Moment at={approval.requested_at} />
      </Fact>
      <Fact
        name={
          approval.status === 'approved' && approval.kind === 'payment' ? 'Can be used until' : 'Decide until'
        }
        isWide
      >
        <Moment at={approval.expires_at} />
      </Fact>
      {nonce !== null && (
        <Fact name="Proof" isWide>
          <Identifier id={nonce} />
        </Fact>
      )}
      <Fact name="Identifier" isWide>
        <CopyableIdentifier id={approval.id} />
      </Fact>
    </Facts>
  )
}

function Decisions({ approval }: Pick<Shown, 'approval'>) {
  const keyNames = useKeyNames()
  return (
    <ol className="decisions">
      {approval.decisions.map(({ actor, decision, note, at }) => (
        <li key={`${actor} ${decision}`}>
          <StatusBadge status={decision} /> by {keyNames.get(actor) ?? <Identifier id={actor} />},{' '}
          <Moment at={at} />
          {note !== null && <blockquote className="breakable">{note}</blockquote>}
        </li>
      ))}
    </ol>
  )
}
