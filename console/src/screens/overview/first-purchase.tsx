import type { Checklist } from '@purser/client'

import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import firstPurchase from '../../../../examples/first-purchase/first-purchase.js?raw'

/** The way to a first purchase: each step turns green by itself when it is done, by hand or by the snippet. */
export function FirstPurchase({ checklist }: { readonly checklist: Checklist }) {
  const { environment } = useSeen()
  const steps = [
    {
      isDone: checklist.agent,
      title: 'An agent',
      words: (
        <>
          Whoever will spend. <Go to="agents?new">Create one</Go>
        </>
      ),
    },
    {
      isDone: checklist.mandate,
      title: 'A mandate',
      words: (
        <>
          Its budget, its cap, its sellers, its end. <Go to="mandates/new">Create one</Go>
        </>
      ),
    },
    {
      isDone: checklist.proof,
      title: 'A proof of payment',
      words: 'The agent asks for one; its amount is held.',
    },
    {
      isDone: checklist.paid,
      title: 'A payment',
      words: 'The merchant has the proof verified, which charges it.',
    },
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  return (
    <Panel
      title="Your first purchase"
      aside={<span className="quiet small">{`${done} of ${steps.length} done`}</span>}
    >
      <div className="checklist">
        <ol className="stack">
          {steps.map(({ isDone, title, words }, step) => (
            <li key={title} className={isDone ? 'check-step done' : 'check-step'}>
              <span className="check-mark" aria-hidden="true">
                {isDone ? <Icon name="check" size={14} /> : step + 1}
              </span>
              <div>
                <h3>
                  {title}
                  <span className="only-read-aloud">{isDone ? ': done' : ': to do'}</span>
                </h3>
                <p className="quiet">{words}</p>
              </div>
            </li>
          ))}
        </ol>
        {environment === 'sandbox' ? (
          <div className="stack-tight">
            <p>
              Or all of it at once: save this as <code>first-purchase.js</code> and run it with{' '}
              <code>PURSER_SANDBOX_KEY=svc_sand_… node first-purchase.js</code>. Your owner key was shown when
              the service first started; <Go to="keys?new">issue another one</Go> if you have none.
            </p>
            <CodeBlock
              label="First purchase"
              text={firstPurchase.replace('http://127.0.0.1:8080', location.origin)}
            />
          </div>
        ) : (
          <p className="quiet">
            Proofs exist in the sandbox only for now: production manages mandates and asks for decisions with{' '}
            <code>POST /v1/policy/evaluate</code>.
          </p>
        )}
      </div>
    </Panel>
  )
}
