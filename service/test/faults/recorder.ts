import type { Answer, Call, Request } from './history.ts'

/** Sends a request with a key, and resolves to its answer; never rejects. */
export type Send = (keyId: string, request: Request) => Promise<Answer>

export interface Recorder {
  /** Sends a request, and records what was asked, when, and the answer. */
  readonly send: Send
  /** Every finished call, in the order of completion. */
  readonly calls: readonly Call[]
}

/**
 * A recorder for all calls of `send`, by a clock that the service shares. If it is not known exactly, `atMost` is the
 * latest that it may show.
 */
export function record(send: Send, now: () => number, atMost = now): Recorder {
  const calls: Call[] = []
  return {
    calls,
    send: async (keyId, request) => {
      const beganMs = now()
      const answer = await send(keyId, request)
      calls.push({ keyId, request, beganMs, endedMs: atMost(), answer })
      return answer
    },
  }
}
