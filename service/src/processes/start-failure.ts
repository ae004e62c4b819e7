import { ListenError } from '../start/listening.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** Prints to standard error why the service cannot start. */
export function tellStartFailure(message: string): void {
  console.error(`Purser cannot start: ${message}.`)
}

/** Why a start failed, in a sentence; undefined if the error is a bug. */
export function explainStartFailure(error: unknown, calledAs: string): string | undefined {
  if (error instanceof StoreOpenError) return error.tell({ purser: calledAs })
  return error instanceof ListenError ? error.message : undefined
}
