import type { Answer, Call, Request } from './history.ts'

/** Sends a request with a key, and resolves to its answer; it never rejects. */
export type Send = (keyId: string, request: Request) => Promise<Answer>

export interface Recorder {
  /** Sends, and writes down what was asked, when, and what came back. */
  readonly send: Send
  /** Every call that has ended, in the order of their ends. */
  readonly calls: readonly Call[]
}

/** A recorder of everything that goes through `send`, by a clock that the service shares. */
export function record(send: Send, now: () => number): Recorder {
  const calls: Call[] = []
  return {
    calls,
    send: async (keyId, request) => {
      const beganMs = now()
      const answer = await send(keyId, request)
      calls.push({ keyId, request, beganMs, endedMs: now(), answer })
      return answer
    },
  }
}
