import { counted } from '../text/counts.ts'
import { sayDone, sayFailed } from '../ui/toast.tsx'
import { useChange } from './queries.ts'

/** Resumes the mandates paused by one stop; without an id, by any stop. */
export function useResumeStopped() {
  return useChange((purser, stopId: string | undefined) => purser.console.resume(stopId), {
    onDone: ({ resumed_mandates }) =>
      resumed_mandates > 0
        ? sayDone(`${counted(resumed_mandates, 'mandate')} resumed`)
        : sayFailed('Nothing was resumed: another stop began, or the mandates have changed since.'),
    whenFailed: 'Not all stopped mandates were resumed.',
  })
}
