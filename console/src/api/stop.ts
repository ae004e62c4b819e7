import { counted } from '../text/counts.ts'
import { sayDone, sayFailed } from '../ui/toast.tsx'
import { useChange } from './queries.ts'

/** The stop to undo: by its id, or the last one that the owner saw, by its number. */
type Stop = { readonly stopId: string } | { readonly stopNumber: number }

/** Resumes the mandates paused by one stop; by its number, those of earlier stops too. */
export function useResumeStopped() {
  return useChange(
    (purser, stop: Stop) =>
      'stopId' in stop ? purser.console.resume(stop.stopId) : purser.console.resume(undefined, stop),
    {
      onDone: ({ resumed_mandates }) =>
        resumed_mandates > 0
          ? sayDone(`${counted(resumed_mandates, 'mandate')} resumed`)
          : sayFailed('Nothing was resumed: another stop began, or the mandates have changed since.'),
      whenFailed: 'Not all stopped mandates were resumed.',
    },
  )
}
