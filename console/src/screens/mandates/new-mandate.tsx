import type { Mandate, MandateDetail, NewMandate as NewMandateBody } from '@purser/client'
import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'react-router'

import { useConnection, useNow } from '../../api/connection.tsx'
import { formFaults } from '../../api/failures.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { useSent } from '../../api/sent.ts'
import { useTyped } from '../../api/typed.ts'
import { Go, useGoWhileOpen } from '../../shell/go.tsx'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { useActiveAgents } from '../agents/agent-choices.ts'
import { refusedLimits } from '../budgets/limit-draft.ts'
import { Screen } from '../screen.tsx'
import { SentNotice } from '../sent-notice.tsx'
import { Loading, WhenRead } from '../when-read.tsx'
import { Backtest } from './backtest.tsx'
import { BacktestOnAnother } from './backtest-on-another.tsx'
import './new-mandate.css'
import { draftFaults, draftLike, emptyDraft, newMandateOf, type MandateDraft } from './mandate-draft.ts'
import { MandateFields, mandateFieldNames } from './mandate-fields.tsx'
import { MandatePreview } from './mandate-preview.tsx'
import { RestoredNotice } from './restored-notice.tsx'

const title = 'New mandate'

/** Creates a mandate; `?like=` copies the limits of another one, `?agent=` preselects an agent. */
export function NewMandate() {
  const [parameters] = useSearchParams()
  const like = parameters.get('like')
  const now = useNow()
  const { state, answeredAtMs } = useConnection()
  const model = useRead('mandate', (purser, signal) => purser.console.mandates.get(like ?? '', { signal }), {
    parameters: [like],
    isEnabled: like !== null,
  })
  // The form begins with an expiry in the account's time, which the first answer has.
  if (state !== 'up' && answeredAtMs === 0) return <Loading title={title} />
  if (like === null) {
    return <MandateForm start={{ ...emptyDraft(now()), agentId: parameters.get('agent') ?? '' }} />
  }
  return (
    <WhenRead query={model} title={title}>
      {(mandate) => {
        const draft = draftLike(mandate, now())
        // A revoked agent is no option of its field.
        const start = mandate.is_agent_revoked ? { ...draft, agentId: '' } : draft
        return <MandateForm start={start} like={mandate} />
      }}
    </WhenRead>
  )
}

function MandateForm({
  start,
  like,
}: {
  readonly start: MandateDraft
  /** The mandate that is duplicated. */
  readonly like?: MandateDetail
}) {
  const [draft, setDraft, restored] = useTyped(`new-mandate.${like?.id ?? ''}.${start.agentId}`, start, {
    isKept: true,
  })
  const [attempts, setAttempts] = useState(0)
  const form = useRef<HTMLFormElement>(null)
  const go = useGoWhileOpen()
  const agents = useActiveAgents({ chosenId: draft.agentId })
  const { sent, send, forget } = useSent<NewMandateBody>('new-mandate')
  const create = useChange(
    (purser, chosen: MandateDraft) =>
      send(newMandateOf(chosen), ({ idempotencyKey, body }) =>
        purser.mandates.create(body, { idempotencyKey }),
      ),
    {
      onDone: (mandate: Mandate) => {
        restored.forget()
        sayDone('Mandate created')
        go(`mandates/${mandate.id}`)
      },
    },
  )
  const refused = formFaults(create.error, mandateFieldNames)
  const faults = { ...(attempts > 0 ? draftFaults(draft) : {}), ...refused.byField }
  const set = (changes: Partial<MandateDraft>) => setDraft({ ...draft, ...changes })

  // After a failed submit, focus the first invalid field.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [attempts, create.error])

  return (
    <Screen title={title} lead="What may one agent spend, on what, and until when?">
      <RestoredNotice {...restored} />
      <form
        ref={form}
        className="new-mandate"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setAttempts(attempts + 1)
          if (Object.keys(draftFaults(draft)).length === 0) create.mutate(draft)
        }}
      >
        <MandateFields
          {...{ draft, set, faults }}
          showsFaults={attempts > 0}
          refusedLimits={refusedLimits(create.error)}
          agent={
            <SelectField
              label="Agent"
              value={draft.agentId}
              onChange={(agentId) => set({ agentId })}
              options={agents.options}
              error={faults.agent_id}
              hint={
                agents.areNone ? (
                  <>
                    There is no active agent yet. <Go to="agents?new">Create one first</Go>
                  </>
                ) : (
                  agents.hint
                )
              }
            />
          }
        />
        <MandatePreview draft={draft} agentName={agents.nameOf(draft.agentId)}>
          <Panel title="Back-test" isTitleHidden={!like}>
            {like ? <Backtest mandate={like} draft={draft} /> : <BacktestOnAnother draft={draft} />}
          </Panel>
        </MandatePreview>
        <div className="stack mandate-actions">
          {refused.rest && <Notice tone="bad">{refused.rest}</Notice>}
          {sent && !create.isPending && <SentNotice what={`The mandate “${sent.body.purpose}”`} />}
          <div className="row">
            <Button look="main" type="submit" disabled={create.isPending}>
              {create.isPending ? 'Creating…' : 'Create mandate'}
            </Button>
            <Button
              onClick={() => {
                restored.forget()
                forget()
                go('mandates')
              }}
            >
              Cancel
            </Button>
          </div>
        </div>
      </form>
    </Screen>
  )
}
