import { counted } from '../text/counts.ts'
import { sayDone } from '../ui/toast.tsx'
import { useChange } from './queries.ts'

/** Resumes what one stop paused; without its id, what any stop paused. */
export function useResumeStopped() {
  return useChange((purser, stopId: string | undefined) => purser.console.resume(stopId), {
    onDone: ({ resumed_mandates }) => sayDone(`${counted(resumed_mandates, 'mandate')} resumed`),
    whenFailed: 'Nothing was resumed.',
  })
}
