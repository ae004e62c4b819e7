import { ApiError, type AgentSummary } from '@purser/client'
import { useState } from 'react'

import { formFaults } from '../../api/failures.ts'
import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogForm } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { useBudgets } from '../budgets/budget-choices.ts'

/** The shared budget of an agent, which an owner can change. */
export function AgentBudget({ agent }: { readonly agent: AgentSummary }) {
  const { session } = useSeen()
  const [isOpen, setOpen] = useState(false)
  const { query, nameOf } = useBudgets()
  const { budget_id } = agent
  const mayChange = agent.status === 'active' && session.role !== 'approver'
  const close = () => setOpen(false)
  return (
    <Panel
      title="Shared budget"
      aside={
        mayChange && (
          <Button icon="edit" disabled={query.isPending} onClick={() => setOpen(true)}>
            Change budget
          </Button>
        )
      }
    >
      <p className="breakable">
        {budget_id === null ? (
          <span className="quiet">None. Each mandate counts only in its own budget.</span>
        ) : (
          <>
            All its mandates count in <Go to={`budgets/${budget_id}`}>{nameOf(budget_id)}</Go>.
          </>
        )}
      </p>
      <Dialog title="Change the shared budget" isOpen={isOpen} onClose={close}>
        <ChangeForm agent={agent} onClose={close} />
      </Dialog>
    </Panel>
  )
}

function ChangeForm({ agent, onClose }: { readonly agent: AgentSummary; readonly onClose: () => void }) {
  const [baseId, setBaseId] = useState(agent.budget_id)
  const [chosen, setChosen] = useState(agent.budget_id ?? '')
  const budgets = useBudgets()
  const change = useChange(
    (purser) =>
      purser.agents.update(agent.id, {
        budget_id: chosen === '' ? null : chosen,
        expected_budget_id: baseId,
      }),
    {
      onDone: ({ budget_id }) => {
        onClose()
        sayDone(budget_id === null ? 'Removed from its budget' : 'Assigned to the budget')
      },
    },
  )
  const faults = formFaults(change.error, ['budget_id'])
  const isOvertaken =
    agent.budget_id !== baseId ||
    (change.error instanceof ApiError && change.error.code === 'version_mismatch')
  return (
    <DialogForm
      action="Save"
      isReady={!isOvertaken && chosen !== (agent.budget_id ?? '')}
      isWorking={change.isPending}
      failure={isOvertaken ? undefined : faults.rest}
      onClose={onClose}
      onSubmit={() => change.mutate(undefined)}
    >
      {isOvertaken && (
        <Notice tone="warn">
          <div className="stack-tight">
            <p>
              Somebody else has changed the shared budget of this agent since you opened this.
              {agent.budget_id !== baseId &&
                ` It is ${agent.budget_id === null ? 'in none' : `in “${budgets.nameOf(agent.budget_id)}”`} now.`}
            </p>
            <div>
              <Button
                disabled={agent.budget_id === baseId}
                onClick={() => {
                  setBaseId(agent.budget_id)
                  change.reset()
                }}
              >
                Continue with my choice
              </Button>
            </div>
          </div>
        </Notice>
      )}
      <SelectField
        label="Shared budget"
        value={chosen}
        onChange={setChosen}
        options={budgets.optionsWith(chosen)}
        hint={
          budgets.unread ??
          'From now on, payments of all its mandates also count in this budget and in those above it. Earlier payments keep counting where they were booked.'
        }
        error={faults.byField.budget_id}
      />
    </DialogForm>
  )
}
