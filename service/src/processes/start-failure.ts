import { ListenError } from '../start/listening.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** Prints to standard error why the service cannot start. Throws the error if it is a bug. */
export function tellStartFailure(error: unknown, calledAs: string): void {
  const failure = explainStartFailure(error, calledAs)
  if (failure === undefined) throw error
  refuseStart(failure)
}

/** Prints a reason to standard error, as a sentence. */
export function refuseStart(reason: string): void {
  console.error(`Purser cannot start: ${reason}.`)
}

/** Why a start failed, in a sentence; undefined if the error is a bug. */
export function explainStartFailure(error: unknown, calledAs: string): string | undefined {
  if (error instanceof StoreOpenError) return error.tell({ purser: calledAs })
  return error instanceof ListenError ? error.message : undefined
}
