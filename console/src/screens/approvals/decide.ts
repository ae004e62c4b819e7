import type { ApprovalRequest } from '@purser/client'
import { useEffect, type RefObject } from 'react'

import { useChange } from '../../api/queries.ts'
import { isTyping } from '../../shell/keyboard.ts'
import { sayDone } from '../../ui/toast.tsx'
import { subjectOf } from './approval-words.ts'

/** What can be done with a request. */
export interface Decide {
  readonly isWorking: boolean
  readonly approve: (note?: string) => void
  readonly deny: (note?: string) => void
}

/** Approves and denies a request. An unused approval can be withdrawn from its toast. */
export function useDecide(approval: ApprovalRequest, onDone: () => void = () => undefined): Decide {
  const { id, kind } = approval
  const subject = subjectOf(approval)
  const deny = useChange((purser, note: string | undefined) => purser.approvals.deny(id, noteOf(note)), {
    onDone: () => {
      onDone()
      sayDone(`Denied: ${subject}`)
    },
    whenFailed: `Not denied: ${subject}.`,
  })
  const withdraw = useChange((purser) => purser.approvals.deny(id), {
    onDone: () => sayDone(`Withdrawn: ${subject}`),
    whenFailed: `Not withdrawn: ${subject}.`,
  })
  const approve = useChange(
    (purser, note: string | undefined) => purser.approvals.approve(id, noteOf(note)),
    {
      onDone: ({ status }) => {
        onDone()
        if (status === 'pending') sayDone(`${subject} needs the approval of another person, too.`)
        else if (kind === 'increase') sayDone('Approved: the mandate has its new terms.')
        else {
          sayDone(`Approved: ${subject}`, {
            label: 'Withdraw',
            act: () => withdraw.mutate(undefined),
          })
        }
      },
      whenFailed: `Not approved: ${subject}.`,
    },
  )
  return {
    isWorking: approve.isPending || deny.isPending,
    approve: (note) => approve.mutate(note),
    deny: (note) => deny.mutate(note),
  }
}

function noteOf(note: string | undefined) {
  const text = note?.trim()
  return text ? { note: text } : {}
}

/** Keys that work while the focus is within an element, except in a field: a letter cannot decide by accident. */
export function useKeysWithin(
  element: RefObject<HTMLElement | null>,
  keys: Readonly<Record<string, () => void>>,
): void {
  useEffect(() => {
    const { current } = element
    if (!current) return undefined
    function listen(event: KeyboardEvent) {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key]
      if (!act) return
      event.preventDefault()
      act()
    }
    current.addEventListener('keydown', listen)
    return () => current.removeEventListener('keydown', listen)
  })
}
