import type { Checklist, Environment } from '@purser/client'
import type { ReactNode } from 'react'

import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import firstPurchase from '../../../../examples/first-purchase/first-purchase.js?raw'
import './first-purchase.css'

/** Whether all steps possible in this environment are done: production has no payments yet. */
export function isFirstDone(checklist: Checklist, environment: Environment): boolean {
  return environment === 'sandbox' ? checklist.paid : checklist.agent && checklist.mandate
}

/** The checklist for a first purchase: steps turn green when done, by hand or by the program. */
export function FirstPurchase({ checklist }: { readonly checklist: Checklist }) {
  const { environment } = useSeen()
  const isSandbox = environment === 'sandbox'
  const steps = isSandbox ? [...firstSteps(checklist), ...paymentSteps(checklist)] : firstSteps(checklist)
  const done = steps.filter(({ isDone }) => isDone).length
  return (
    <Panel
      title={isSandbox ? 'Your first purchase' : 'Your first mandate'}
      aside={<span className="quiet small">{`${done} of ${steps.length} done`}</span>}
    >
      <div className="checklist">
        <ol className="stack">
          {steps.map((step, index) => (
            <StepLine key={step.title} {...step} number={index + 1} />
          ))}
        </ol>
        {isSandbox ? (
          <div className="stack-tight">
            <p>
              Or let a program do all four: save it as <code>first-purchase.mjs</code> and run{' '}
              <code>PURSER_SANDBOX_KEY=svc_sand_… node first-purchase.mjs</code>. The key was shown when the
              service first started; <Go to="keys?new">issue another one</Go> if you have none.
            </p>
            <CodeBlock
              label="First purchase"
              text={firstPurchase.replace('http://127.0.0.1:8080', location.origin)}
            />
          </div>
        ) : (
          <p className="quiet">
            Proofs of payment exist in the sandbox only for now. In production your programs request
            decisions, with <code>POST /v1/policy/evaluate</code>: <Go to="developers">see how</Go>.
          </p>
        )}
      </div>
    </Panel>
  )
}

interface Step {
  readonly isDone: boolean
  readonly title: string
  readonly words: ReactNode
}

function StepLine({ isDone, title, words, number }: Step & { readonly number: number }) {
  return (
    <li className={isDone ? 'check-step done' : 'check-step'}>
      <span className="check-mark" aria-hidden="true">
        {isDone ? <Icon name="check" size={14} /> : number}
      </span>
      <div>
        <h3>
          {title}
          <span className="only-read-aloud">{isDone ? ': done' : ': to do'}</span>
        </h3>
        <p className="quiet">{words}</p>
      </div>
    </li>
  )
}

function firstSteps({ agent, mandate }: Checklist): Step[] {
  return [
    {
      isDone: agent,
      title: 'Create an agent',
      words: (
        <>
          The program that will spend. <Go to="agents?new">New agent</Go>
        </>
      ),
    },
    {
      isDone: mandate,
      title: 'Give it a mandate',
      words: (
        <>
          A budget, a cap for one payment, sellers, an end. <Go to="mandates/new">New mandate</Go>
        </>
      ),
    },
  ]
}

function paymentSteps({ proof, paid }: Checklist): Step[] {
  return [
    {
      isDone: proof,
      title: 'The agent requests a proof of payment',
      words: 'Its amount is held, but not charged yet.',
    },
    { isDone: paid, title: 'The merchant is paid', words: 'It verifies the proof, which charges it.' },
  ]
}
