import type { NearBudget, Overview } from '@purser/client'

import { readMicro } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { reasonInWords } from '../../text/reasons.ts'
import { dayMs } from '../../text/times.ts'
import { denialsIn } from './denials.ts'

/** Whether anything is wrong: the severity and the message. */
export interface Judgement {
  readonly gravity: 'worry' | 'nothing yet' | 'well'
  readonly sentence: string
  readonly more: string
}

/** Number of budgets in the overview; there may be more. */
const namedBudgets = 5

/** Worst first: frozen budgets, budgets that run out within a day, full limits over time, denials, nothing. */
export function judge(figures: Overview, isSetUp: boolean): Judgement {
  const [worst, ...others] = [
    ...frozenBudgets(figures),
    ...endingBudgets(figures),
    ...fullLimits(figures),
    ...denials(figures),
  ]
  if (worst !== undefined) return { gravity: 'worry', sentence: worst, more: others.join(' ') }
  if (!isSetUp) {
    return { gravity: 'nothing yet', sentence: 'Nothing is set up yet.', more: 'The next steps are below.' }
  }
  return {
    gravity: 'well',
    sentence: 'No problems.',
    more: 'No denials in the last 24 hours, no limit over time is full, and none of the budgets below runs out within a day.',
  }
}

function frozenBudgets({ frozen_budgets: count }: Overview): string[] {
  if (count === 0) return []
  return [
    `${counted(count, 'shared budget')} ${count === 1 ? 'is' : 'are'} frozen: no new payment is made below ${count === 1 ? 'it' : 'them'}.`,
  ]
}

/** At most one sentence about budgets that are used up, or will be within a day at the current rate. */
function endingBudgets({ nearest_budgets, active_mandates, at }: Overview): string[] {
  const endsSoon = ({ exhausted_at }: NearBudget) =>
    exhausted_at !== null && Date.parse(exhausted_at) < Date.parse(at) + dayMs
  const gone = nearest_budgets.filter(isUsedUp).length
  const ending = nearest_budgets.filter((budget) => !isUsedUp(budget) && endsSoon(budget)).length
  if (gone + ending === 0) return []
  // Those that are not named are not used up unless all named ones are, but may end sooner.
  const areMore = nearest_budgets.length >= namedBudgets && active_mandates > namedBudgets
  const atLeast = areMore && (ending > 0 || gone >= namedBudgets) ? 'At least ' : ''
  if (gone === 0) return [`${atLeast}${counted(ending, 'budget')} will be used up within a day.`]
  const areGone = `${atLeast}${counted(gone, 'budget')} ${gone === 1 ? 'is' : 'are'} used up`
  return [ending === 0 ? `${areGone}.` : `${areGone}, and ${ending} more will be within a day.`]
}

function fullLimits({ full_limits: { mandates, budgets } }: Overview): string[] {
  if (mandates + budgets === 0) return []
  const full = [
    ...(mandates > 0 ? [counted(mandates, 'mandate')] : []),
    ...(budgets > 0 ? [counted(budgets, 'shared budget')] : []),
  ]
  return [
    `${full.join(' and ')} ${mandates + budgets === 1 ? 'has' : 'have'} a full limit over time, which admits no payment until it resets.`,
  ]
}

function isUsedUp({ remaining_budget }: NearBudget): boolean {
  return readMicro(remaining_budget) === 0n
}

function denials(figures: Overview): string[] {
  const { listed, more } = denialsIn(figures)
  const [top] = figures.denial_reasons
  const most = top ? ` Most often: ${reasonInWords(top.reason_code).toLowerCase()}.` : ''
  return [
    ...(listed > 0 ? [`${counted(listed, 'payment')} denied in the last 24 hours.${most}`] : []),
    ...(more > 0 ? [`${counted(more, 'more proof')} refused in the last 24 hours.`] : []),
  ]
}
