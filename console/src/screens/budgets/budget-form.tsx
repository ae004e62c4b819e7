import {
  ApiError,
  type Budget,
  type LimitBelowCommitted,
  type NewBudget,
  type NewLimit,
} from '@purser/client'
import { useState } from 'react'

import { explainChange, formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useSent } from '../../api/sent.ts'
import { useTyped } from '../../api/typed.ts'
import { useGoWhileOpen } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { SentNotice } from '../sent-notice.tsx'
import { useBudgets } from './budget-choices.ts'
import { inTreeOrder } from './budget-tree.ts'
import { limitDraftOf, limitFaults, newLimitOf, refusedLimits, type LimitDraft } from './limit-draft.ts'
import { LimitFields } from './limit-fields.tsx'

/** Budgets above each other. */
const maxLevels = 4

interface BudgetDraft {
  readonly name: string
  /** Empty for none. */
  readonly parentId: string
  readonly limits: readonly LimitDraft[]
}

/** Creates a budget, at the top or below another. */
export function BudgetDialog({
  isOpen,
  onClose,
  parentId = '',
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly parentId?: string
}) {
  return (
    <Dialog title="New budget" isOpen={isOpen} onClose={onClose} isWide>
      <NewBudgetForm parentId={parentId} onClose={onClose} />
    </Dialog>
  )
}

function NewBudgetForm({ parentId, onClose }: { readonly parentId: string; readonly onClose: () => void }) {
  const [draft, setDraft] = useTyped<BudgetDraft>('new-budget', { name: '', parentId, limits: [] })
  const [attempts, setAttempts] = useState(0)
  const go = useGoWhileOpen()
  const { budgets, unread } = useBudgets()
  const { sent, send } = useSent<NewBudget>('new-budget')
  const create = useChange(
    (purser) => {
      const asked = {
        name: draft.name.trim(),
        limits: limitsOf(draft),
        ...(draft.parentId === '' ? {} : { parent_id: draft.parentId }),
      }
      return send(asked, ({ idempotencyKey, body }) => purser.budgets.create(body, { idempotencyKey }))
    },
    {
      onDone: (budget) => {
        sayDone('Budget created')
        go(`budgets/${budget.id}`)
      },
    },
  )
  const parents = inTreeOrder(budgets).filter(({ level }) => level < maxLevels - 1)
  const refused = formFaults(create.error, ['name', 'parent_id', 'limits'])
  return (
    <DialogForm
      action="Create budget"
      isWorking={create.isPending}
      failure={refused.rest}
      onClose={onClose}
      onSubmit={() => {
        setAttempts(attempts + 1)
        if (isComplete(draft)) create.mutate(undefined)
      }}
    >
      {sent && !create.isPending && <SentNotice what={`The budget “${sent.body.name}”`} />}
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => setDraft({ ...draft, name })}
        required
        hint="Such as the name of a team or a project."
        error={refused.byField.name}
      />
      <SelectField
        label="Below"
        value={draft.parentId}
        onChange={(next) => setDraft({ ...draft, parentId: next })}
        options={[
          { value: '', text: 'None: it is at the top' },
          ...parents.map(({ budget, level }) => ({
            value: budget.id,
            text: `${'\u2003'.repeat(level)}${budget.name || 'Unnamed budget'}`,
          })),
        ]}
        hint={unread ?? 'Cannot be changed later.'}
        error={refused.byField.parent_id}
      />
      <LimitFields
        limits={draft.limits}
        onChange={(limits) => setDraft({ ...draft, limits })}
        maySplit={false}
        showsFaults={attempts > 0}
        refused={refusedLimits(create.error)}
      />
    </DialogForm>
  )
}

/** Changes the name and the limits of a budget. */
export function EditBudgetDialog({
  budget,
  isOpen,
  onClose,
}: {
  readonly budget: Budget
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  return (
    <Dialog title="Edit budget" isOpen={isOpen} onClose={onClose} isWide>
      <EditBudgetForm budget={budget} onClose={onClose} />
    </Dialog>
  )
}

function EditBudgetForm({ budget, onClose }: { readonly budget: Budget; readonly onClose: () => void }) {
  const [{ base, draft }, setTyped] = useTyped(`edit-budget.${budget.id}`, {
    base: budget,
    draft: draftOf(budget),
  })
  const [attempts, setAttempts] = useState(0)
  const change = useChange(
    (purser, { endsHolds }: { readonly endsHolds: boolean }) =>
      purser.budgets.change(budget.id, base.version, {
        name: draft.name.trim(),
        limits: limitsOf(draft),
        ...(endsHolds ? { end_holds: true } : {}),
      }),
    {
      onDone: () => {
        sayDone('Budget changed')
        onClose()
      },
    },
  )
  const refused = formFaults(change.error, ['name', 'limits'])
  const isBelow = change.error instanceof ApiError && change.error.code === 'budget_below_committed'
  const isOvertaken =
    budget.version !== base.version ||
    (change.error instanceof ApiError && change.error.code === 'version_mismatch')
  const set = (next: Partial<BudgetDraft>) => setTyped({ base, draft: { ...draft, ...next } })
  return (
    <DialogForm
      action={change.isPending ? 'Saving…' : 'Save changes'}
      isReady={!isOvertaken}
      isWorking={change.isPending}
      failure={isBelow || isOvertaken ? undefined : refused.rest}
      onClose={onClose}
      onSubmit={() => {
        setAttempts(attempts + 1)
        if (isComplete(draft)) change.mutate({ endsHolds: false })
      }}
    >
      {isOvertaken && (
        <Notice tone="warn">
          <div className="stack-tight">
            <p>Somebody else has changed this budget since you opened it. What you typed is kept.</p>
            <div>
              <Button
                disabled={budget.version === base.version}
                onClick={() => {
                  setTyped({ base: budget, draft: mergeDraft(draft, draftOf(base), draftOf(budget)) })
                  change.reset()
                }}
              >
                Merge their changes
              </Button>
            </div>
          </div>
        </Notice>
      )}
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => set({ name })}
        required
        error={refused.byField.name}
      />
      <LimitFields
        limits={draft.limits}
        onChange={(limits) => set({ limits })}
        maySplit={false}
        showsFaults={attempts > 0}
        refused={refusedLimits(change.error)}
      />
      {isBelow && <BelowCommitted error={change.error} onEnd={() => change.mutate({ endsHolds: true })} />}
    </DialogForm>
  )
}

/** Why a limit cannot be cut so far, and the way to do it. */
function BelowCommitted({ error, onEnd }: { readonly error: unknown; readonly onEnd: () => void }) {
  if (!(error instanceof ApiError)) return explainChange(error)
  const { usage } = error.body as LimitBelowCommitted
  return (
    <Notice tone="bad">
      <div className="stack-tight">
        <p>
          This is less than what is committed: <Amount value={usage.committed ?? '0'} currency="USDC" /> in{' '}
          {usage.count ?? 0} payments, of at most{' '}
          {usage.max_amount === null ? (
            `${usage.max_count} payments`
          ) : (
            <Amount value={usage.max_amount} currency="USDC" />
          )}
          . You can save it, and end all open proofs below the budget at once. Then nothing more is admitted
          until there is room.
        </p>
        <div>
          <Button look="danger" onClick={onEnd}>
            End open proofs and save
          </Button>
        </div>
      </div>
    </Notice>
  )
}

function draftOf({ name, limits }: Budget): BudgetDraft {
  return { name, parentId: '', limits: limits.map(limitDraftOf) }
}

/** Applies what was typed over an earlier version to the current one. */
function mergeDraft(typed: BudgetDraft, over: BudgetDraft, current: BudgetDraft): BudgetDraft {
  const isSame = JSON.stringify(typed.limits) === JSON.stringify(over.limits)
  return {
    ...current,
    ...(typed.name === over.name ? {} : { name: typed.name }),
    ...(isSame ? {} : { limits: typed.limits }),
  }
}

function limitsOf({ limits }: BudgetDraft): NewLimit[] {
  return limits.map(newLimitOf)
}

function isComplete({ limits }: BudgetDraft): boolean {
  return limits.every((limit) => Object.keys(limitFaults(limit)).length === 0)
}
