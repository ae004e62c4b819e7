import type { Overview } from '@purser/client'

import { useSeen } from '../../api/seen.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { isFirstDone } from './first-purchase.tsx'
import { judge, type Judgement } from './judgement.ts'
import { useResumeStopped } from './stop-agents.tsx'
import './verdict.css'

const looks: Record<Judgement['gravity'], { readonly tone: string; readonly icon: IconName }> = {
  stopped: { tone: 'bad', icon: 'stop' },
  worry: { tone: 'warn', icon: 'warning' },
  'nothing yet': { tone: 'plain', icon: 'live' },
  well: { tone: 'good', icon: 'check' },
}

/** The answer to the first question, in one sentence. */
export function Verdict({ figures }: { readonly figures: Overview }) {
  const { environment } = useSeen()
  const resume = useResumeStopped()
  const { gravity, sentence, more } = judge(figures, isFirstDone(figures.checklist, environment))
  const { tone, icon } = looks[gravity]
  return (
    <div className={`verdict ${tone}`} role="status">
      <Icon name={icon} size={22} />
      <p>
        <strong>{sentence}</strong> {more}
      </p>
      {gravity === 'stopped' && (
        <Button icon="play" onClick={() => resume.mutate(undefined)} disabled={resume.isPending}>
          Resume what was stopped
        </Button>
      )}
    </div>
  )
}
