import { randomKey } from '@purser/client'
import { useState } from 'react'

import { useChange } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { useResumeStopped } from '../../api/stop.ts'
import { amountInWords } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmByTyping } from '../../ui/dialog.tsx'
import { sayDone, sayFailed } from '../../ui/toast.tsx'
import { useAddressFlag } from '../address-flag.ts'

/** The emergency stop, confirmed by typing a word; it can be undone. */
export function StopAgents() {
  const { environment } = useSeen()
  const asked = useAddressFlag('stop')
  const resume = useResumeStopped()
  // Until there is a response, pressing the button again retries the same stop, so that all of it can be
  // undone.
  const [idempotencyKey, setIdempotencyKey] = useState(randomKey)
  const stop = useChange((purser) => purser.console.stop({ idempotencyKey }), {
    onDone: ({ stop_id, paused_mandates, voided_holds, failed_mandates, outstanding_authorized }) => {
      setIdempotencyKey(randomKey())
      asked.clear()
      sayDone(
        `Stopped: ${counted(paused_mandates, 'mandate')} paused, ${counted(voided_holds, 'open proof')} ended.`,
        { label: 'Undo', act: () => resume.mutate({ stopId: stop_id }) },
      )
      const { count, amount } = outstanding_authorized
      if (count > 0) {
        sayDone(
          `${counted(count, 'authorized payment')} of ${amountInWords(amount)} USDC can still be charged until the merchants’ deadlines.`,
        )
      }
      if (failed_mandates > 0) {
        sayFailed(
          `${counted(failed_mandates, 'mandate')} could not be stopped yet, and may still pay. Purser keeps trying.`,
        )
      }
    },
    whenUnseen: 'The stop failed, and agents may still pay.',
  })
  return (
    <>
      <Button look="grave" icon="stop" onClick={asked.set}>
        Stop all agents
      </Button>
      <ConfirmByTyping
        title="Stop all agents?"
        word="stop"
        action="Stop all agents"
        isOpen={asked.isSet}
        change={stop}
        onClose={asked.clear}
        onConfirm={() => stop.mutate(undefined)}
      >
        <p>
          Every active mandate in <strong>{environment}</strong> will be paused, and every open proof voided
          at once. From then on every request to pay is denied. What merchants have already authorized can
          still be charged until their deadlines.
        </p>
        <p className="quiet">
          You can resume the stopped mandates. Voided proofs stay void: agents must request new ones.
        </p>
      </ConfirmByTyping>
    </>
  )
}
