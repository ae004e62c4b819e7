import type { Mandate } from '@purser/client'
import { useState } from 'react'
import { useNavigate, useSearchParams } from 'react-router'

import { faultsByField } from '../../api/failures.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Go, usePath } from '../../shell/go.tsx'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Screen } from '../screen.tsx'
import './new-mandate.css'
import {
  draftFaults,
  draftLike,
  emptyDraft,
  newMandateOf,
  sentenceOf,
  warningsOf,
  type MandateDraft,
} from './mandate-draft.ts'

/** Most agents that the form offers. */
const offeredAgents = 200

/** Creates a mandate; `?like=` begins with the limits of another one, `?agent=` with an agent. */
export function NewMandate() {
  const [parameters] = useSearchParams()
  const like = parameters.get('like')
  const model = useRead('mandate', (purser, signal) => purser.console.mandates.get(like ?? '', { signal }), {
    parameters: [like],
    isEnabled: like !== null,
  })
  return (
    <Screen title="New mandate" lead="What may one agent spend, on what, and until when?">
      {like === null ? (
        <MandateForm start={{ ...emptyDraft(Date.now()), agentId: parameters.get('agent') ?? '' }} />
      ) : model.isError ? (
        <Failed error={model.error} onRetry={() => void model.refetch()} />
      ) : model.data ? (
        <MandateForm start={draftLike(model.data, Date.now())} />
      ) : (
        <Waiting />
      )}
    </Screen>
  )
}

function MandateForm({ start }: { readonly start: MandateDraft }) {
  const [draft, setDraft] = useState(start)
  const [isSent, setSent] = useState(false)
  const navigate = useNavigate()
  const path = usePath()
  const agents = useRead('agents-to-choose', (purser, signal) =>
    purser.agents.list({ limit: 200 }, { signal }).toArray({ limit: offeredAgents }),
  )
  const create = useChange((purser, chosen: MandateDraft) => purser.mandates.create(newMandateOf(chosen)), {
    showsFailure: false,
    onDone: (mandate: Mandate) => {
      sayDone('The mandate is created')
      void navigate(path(`mandates/${mandate.id}`))
    },
  })
  const usable = (agents.data ?? []).filter(({ status }) => status === 'active')
  const agentName = usable.find(({ id }) => id === draft.agentId)?.name
  const faults: Partial<Record<string, string>> = isSent
    ? { ...draftFaults(draft), ...faultsByField(create.error) }
    : faultsByField(create.error)
  const set = (changes: Partial<MandateDraft>) => setDraft({ ...draft, ...changes })

  return (
    <div className="new-mandate">
      <Panel title="Limits">
        <form
          className="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            setSent(true)
            if (Object.keys(draftFaults(draft)).length === 0) create.mutate(draft)
          }}
        >
          <SelectField
            label="Agent"
            value={draft.agentId}
            onChange={(agentId) => set({ agentId })}
            options={[
              { value: '', text: 'Choose an agent' },
              ...usable.map(({ id, name }) => ({ value: id, text: name })),
            ]}
            error={faults['agent_id']}
            hint={
              agents.data && usable.length === 0 ? (
                <>
                  There is no working agent yet. <Go to="agents?new">Create one first</Go>
                </>
              ) : undefined
            }
          />
          <TextArea
            label="Purpose"
            value={draft.purpose}
            onChange={(purpose) => set({ purpose })}
            hint="For people: what is the money for?"
            error={faults['purpose']}
          />
          <div className="form-pair">
            <TextField
              label="Total budget (USDC)"
              inputMode="decimal"
              value={draft.total}
              onChange={(total) => set({ total })}
              placeholder="100.00"
              error={faults['max_spend_total']}
            />
            <TextField
              label="Cap for one payment (USDC)"
              inputMode="decimal"
              value={draft.cap}
              onChange={(cap) => set({ cap })}
              placeholder="5.00"
              error={faults['max_spend_per_transaction']}
            />
          </div>
          <TextArea
            label="Allowed sellers"
            value={draft.sellers}
            onChange={(sellers) => set({ sellers })}
            placeholder={'api.example.com\ndata.example.org'}
            spellCheck={false}
            hint="Domains, one a line or with commas. * allows every seller; nothing allows none."
            error={faults['allowed_sellers']}
          />
          <TextArea
            label="Allowed categories"
            value={draft.categories}
            onChange={(categories) => set({ categories })}
            spellCheck={false}
            hint="Leave it empty to allow every category."
            error={faults['allowed_categories']}
          />
          <TextField
            label="Expires"
            type="datetime-local"
            value={draft.expiresLocal}
            onChange={(expiresLocal) => set({ expiresLocal })}
            hint="By the clock of this computer."
            error={faults['expires_at']}
          />
          {create.isError && Object.keys(faultsByField(create.error)).length === 0 && (
            <Failed error={create.error} onRetry={() => create.mutate(draft)} />
          )}
          <div className="row">
            <Button look="main" type="submit" disabled={create.isPending}>
              {create.isPending ? 'Creating…' : 'Create mandate'}
            </Button>
            <Button onClick={() => void navigate(path('mandates'))}>Cancel</Button>
          </div>
        </form>
      </Panel>
      <div className="stack mandate-preview" aria-live="polite">
        <Panel title="What it will allow">
          <p className="mandate-sentence breakable">{sentenceOf(draft, agentName)}</p>
        </Panel>
        {warningsOf(draft, Date.now()).map((warning) => (
          <Notice key={warning} tone="warn">
            {warning}
          </Notice>
        ))}
      </div>
    </div>
  )
}
