import { StoreOpenError } from './open-error.ts'

/** A step of the schema that failed, as an error that says so; all steps of a start are one transaction. */
export function explainFailedStep(
  error: unknown,
  { place, step }: { readonly place: string; readonly step: number },
): StoreOpenError {
  const cause = error instanceof Error ? error.message : String(error)
  return new StoreOpenError('schema_step_failed', { place, step, cause })
}
