import { ApiError, ValidationError, type BelowCommitted, type MandateDetail } from '@purser/client'
import { useEffect, useRef, useState } from 'react'
import { useParams } from 'react-router'

import { explainChange, formFaults } from '../../api/failures.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { useTyped } from '../../api/typed.ts'
import { Go, useGoWhileOpen } from '../../shell/go.tsx'
import { readMicro } from '../../text/amounts.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { useBudgets } from '../budgets/budget-choices.ts'
import { refusedLimits } from '../budgets/limit-draft.ts'
import { OwnersOnly } from '../owners-only.tsx'
import { Screen } from '../screen.tsx'
import { WhenRead } from '../when-read.tsx'
import { Backtest } from './backtest.tsx'
import { ChangeList } from './change-list.tsx'
import { draftFaults, draftOf, type MandateDraft } from './mandate-draft.ts'
import { MandateFields, mandateFieldNames } from './mandate-fields.tsx'
import { MandatePreview } from './mandate-preview.tsx'
import { RestoredNotice } from './restored-notice.tsx'
import './new-mandate.css'
import { amendmentOf, changesTyped, mergeDraft } from './term-changes.ts'

/** Refresh interval: a change by somebody else appears while the user edits. */
const refetchMs = 10_000

/** Changes the terms of a mandate, after showing them before and after. */
export function EditMandate() {
  const { id = '' } = useParams()
  const query = useRead('mandate', (purser, signal) => purser.console.mandates.get(id, { signal }), {
    parameters: [id],
    refetchMs,
  })
  return (
    <WhenRead query={query} title="Edit mandate" above={<Go to={`mandates/${id}`}>Mandate</Go>}>
      {(mandate) => <EditForm key={mandate.id} mandate={mandate} />}
    </WhenRead>
  )
}

function EditForm({ mandate }: { readonly mandate: MandateDetail }) {
  // What was typed goes with the terms that it was typed over.
  const [{ base, draft }, setTyped, restored] = useTyped(
    `edit-mandate.${mandate.id}`,
    { base: mandate, draft: draftOf(mandate) },
    { isKept: true },
  )
  const [attempts, setAttempts] = useState(0)
  const [isReviewing, setReviewing] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const go = useGoWhileOpen()
  const budgets = useBudgets()
  const own = draftFaults(draft)
  const isValid = Object.keys(own).length === 0
  const changes = isValid ? changesTyped(base, draft) : []
  const amend = useChange(
    (purser, { endsHolds }: { readonly endsHolds: boolean }) =>
      purser.mandates.amend(base.id, base.version, {
        ...amendmentOf(changes),
        ...(endsHolds ? { end_holds: true } : {}),
      }),
    {
      onDone: () => {
        restored.forget()
        sayDone('Mandate changed')
        go(`mandates/${mandate.id}`)
      },
      whenUnseen: `Not changed: ${mandate.purpose || mandate.id}.`,
    },
  )
  const refused = formFaults(amend.error, mandateFieldNames)
  const faults = { ...(attempts > 0 ? own : {}), ...refused.byField }
  const set = (next: Partial<MandateDraft>) => setTyped({ base, draft: { ...draft, ...next } })
  const isOvertaken = mandate.version !== base.version || isRefusedWith(amend.error, 'version_mismatch')

  function close() {
    if (amend.isPending) amend.reset()
    setReviewing(false)
  }

  // What the service says about a field is shown next to it.
  useEffect(() => {
    if (amend.error instanceof ValidationError) setReviewing(false)
  }, [amend.error])
  useEffect(() => {
    if (!isReviewing) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [attempts, isReviewing])

  return (
    <Screen
      title={`Edit: ${mandate.purpose || mandate.id}`}
      above={<Go to={`mandates/${mandate.id}`}>Mandate</Go>}
      lead={`For ${mandate.agent_name}. Changes take effect at once, and open proofs stay.`}
    >
      <RestoredNotice {...restored} />
      {isOvertaken && (
        <Notice tone="warn">
          <div className="stack-tight">
            <p>
              Somebody else has changed this mandate since you opened it. What you typed is kept. Merge their
              changes to compare yours with the current terms.
            </p>
            <div>
              <Button
                disabled={mandate.version === base.version}
                onClick={() => {
                  setTyped({ base: mandate, draft: mergeDraft(draft, draftOf(base), draftOf(mandate)) })
                  amend.reset()
                }}
              >
                Merge their changes
              </Button>
            </div>
          </div>
        </Notice>
      )}
      <form
        ref={form}
        className="new-mandate"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setAttempts(attempts + 1)
          amend.reset()
          if (isValid) setReviewing(true)
        }}
      >
        <MandateFields
          {...{ draft, set, faults }}
          showsFaults={attempts > 0}
          refusedLimits={refusedLimits(amend.error)}
        />
        <MandatePreview draft={draft} agentName={mandate.agent_name}>
          <OwnersOnly>
            <Panel title="Back-test">
              <Backtest mandate={base} draft={draft} />
            </Panel>
          </OwnersOnly>
        </MandatePreview>
        <div className="row mandate-actions">
          <Button look="main" type="submit" disabled={isOvertaken}>
            Review changes
          </Button>
          <Button
            onClick={() => {
              restored.forget()
              go(`mandates/${mandate.id}`)
            }}
          >
            Cancel
          </Button>
        </div>
      </form>
      <Dialog
        title={changes.length === 0 ? 'Nothing has changed' : 'Save these changes?'}
        isOpen={isReviewing}
        onClose={close}
        isWide
      >
        <DialogForm
          action={amend.isPending ? 'Saving…' : 'Save changes'}
          isReady={changes.length > 0 && !isOvertaken}
          isWorking={amend.isPending}
          failure={failureOf(amend.error)}
          onClose={close}
          onSubmit={() => amend.mutate({ endsHolds: false })}
        >
          {changes.length === 0 ? (
            <p>The mandate already has these terms.</p>
          ) : (
            <ChangeList changes={changes} budgetName={budgets.nameOf} />
          )}
          <BelowCommittedNotice error={amend.error} onEnd={() => amend.mutate({ endsHolds: true })} />
        </DialogForm>
      </Dialog>
    </Screen>
  )
}

function isRefusedWith(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.code === code
}

/** A failure that nothing else shows. */
function failureOf(error: unknown): string | undefined {
  if (!error || isRefusedWith(error, 'budget_below_committed')) return undefined
  if (isRefusedWith(error, 'version_mismatch'))
    return 'Somebody else has changed this mandate meanwhile. Close this: what you typed is kept.'
  return explainChange(error)
}

/** Why the total cannot be cut so far, and the way to do it. */
function BelowCommittedNotice({ error, onEnd }: { readonly error: unknown; readonly onEnd: () => void }) {
  if (!isRefusedWith(error, 'budget_below_committed')) return null
  const { max_spend_total, spent_total, held_total, authorized_total } = error.body as BelowCommitted
  return (
    <Notice tone="bad">
      <div className="stack-tight">
        <p>
          <Amount value={max_spend_total} currency="USDC" /> is less than what is committed:{' '}
          <Amount value={spent_total} /> spent, <Amount value={held_total} /> held by open proofs, and{' '}
          <Amount value={authorized_total} /> authorized.
        </p>
        {readMicro(held_total) !== 0n && (
          <div>
            <Button look="danger" onClick={onEnd}>
              End open proofs and save
            </Button>
          </div>
        )}
      </div>
    </Notice>
  )
}
