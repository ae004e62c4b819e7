import type { Environment, Overview } from '@purser/client'

import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { counted, reasonInWords } from '../../text/reasons.ts'
import { Button } from '../../ui/button.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { sayDone } from '../../ui/toast.tsx'
import { isFirstDone } from './first-purchase.tsx'

/** The answer to the first question, in one sentence. */
export function Verdict({ figures }: { readonly figures: Overview }) {
  const { environment } = useSeen()
  const resume = useChange((purser) => purser.console.resume(), {
    onDone: ({ resumed_mandates }) => sayDone(`${counted(resumed_mandates, 'mandate')} resumed`),
  })
  const { tone, icon, sentence, more } = judge(figures, environment)
  return (
    <div className={`verdict ${tone}`} role="status">
      <Icon name={icon} size={22} />
      <p>
        <strong>{sentence}</strong> {more}
      </p>
      {figures.stopped_mandates > 0 && (
        <Button icon="play" onClick={() => resume.mutate(undefined)} disabled={resume.isPending}>
          Resume what was stopped
        </Button>
      )}
    </div>
  )
}

interface Judgement {
  readonly tone: 'good' | 'warn' | 'bad' | 'quiet'
  readonly icon: IconName
  readonly sentence: string
  readonly more: string
}

/** From the gravest down: a stop, budgets that end within a day, denials, quiet. */
function judge(figures: Overview, environment: Environment): Judgement {
  const { stopped_mandates, denied_last_day, nearest_budgets, denial_reasons, checklist } = figures
  if (stopped_mandates > 0) {
    return {
      tone: 'bad',
      icon: 'stop',
      sentence: 'Agents are stopped.',
      more: `${counted(stopped_mandates, 'mandate')} paused by a stop: no payment of theirs is authorised.`,
    }
  }
  const denials = denied_last_day > 0 ? deniedInWords(denied_last_day, denial_reasons[0]?.reason_code) : ''
  const dayLater = Date.parse(figures.at) + 24 * 3_600_000
  const ending = nearest_budgets.filter(
    ({ exhausted_at }) => exhausted_at !== null && Date.parse(exhausted_at) < dayLater,
  )
  if (ending.length > 0) {
    return {
      tone: 'warn',
      icon: 'warning',
      sentence: `${counted(ending.length, 'budget')} will be used up within a day.`,
      more: denials,
    }
  }
  if (denials !== '') {
    return { tone: 'warn', icon: 'warning', sentence: denials, more: '' }
  }
  if (!isFirstDone(checklist, environment)) {
    return {
      tone: 'quiet',
      icon: 'live',
      sentence: 'Nothing is set up yet.',
      more: 'The steps below lead to it.',
    }
  }
  return {
    tone: 'good',
    icon: 'check',
    sentence: 'All is well.',
    more: 'Nothing was denied in the last 24 hours, and no budget ends within a day.',
  }
}

function deniedInWords(count: number, topCode: string | undefined): string {
  const top = topCode === undefined ? '' : ` Most often: ${reasonInWords(topCode).toLowerCase()}.`
  return `${counted(count, 'payment')} denied in the last 24 hours.${top}`
}
