import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { counted } from '../../text/reasons.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { sayDone } from '../../ui/toast.tsx'

/** The emergency stop, behind one word that is typed; it can be taken back. */
export function StopAgents() {
  const { environment } = useSeen()
  const [parameters, setParameters] = useSearchParams()
  const [isAsked, setAsked] = useState(false)
  const isOpen = isAsked || parameters.has('stop')
  const resume = useChange((purser, stopId: string) => purser.console.resume(stopId), {
    onDone: ({ resumed_mandates }) => sayDone(`${counted(resumed_mandates, 'mandate')} resumed`),
  })
  const stop = useChange((purser) => purser.console.stop(), {
    onDone: ({ stop_id, paused_mandates, voided_holds }) => {
      close()
      sayDone(
        `Stopped: ${counted(paused_mandates, 'mandate')} paused, ${counted(voided_holds, 'open hold')} ended.`,
        { label: 'Undo', act: () => resume.mutate(stop_id) },
      )
    },
  })
  function close() {
    setAsked(false)
    if (parameters.has('stop')) setParameters({}, { replace: true })
  }
  return (
    <>
      <Button look="danger" icon="stop" onClick={() => setAsked(true)}>
        Stop all agents
      </Button>
      <ConfirmByTyping
        title="Stop all agents?"
        word="stop"
        action="Stop all agents"
        isOpen={isOpen}
        isWorking={stop.isPending}
        onClose={close}
        onConfirm={() => stop.mutate(undefined)}
      >
        <p>
          Every active mandate in <strong>{environment}</strong> is paused, and every open proof ends at once.
          After the answer nothing more is authorised.
        </p>
        <p className="quiet">
          You can resume what was stopped. The proofs that end now stay ended: agents have to ask for new
          ones.
        </p>
      </ConfirmByTyping>
    </>
  )
}
