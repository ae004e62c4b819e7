import { counted } from '../text/counts.ts'
import { sayDone } from '../ui/toast.tsx'
import { useChange } from './queries.ts'

/** Resumes the mandates paused by one stop; without an id, by any stop. */
export function useResumeStopped() {
  return useChange((purser, stopId: string | undefined) => purser.console.resume(stopId), {
    onDone: ({ resumed_mandates }) => sayDone(`${counted(resumed_mandates, 'mandate')} resumed`),
    whenFailed: 'Nothing was resumed.',
  })
}
