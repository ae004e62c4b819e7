import { Purser, type Environment } from '@purser/client'

import { visibleAnswer } from '../text/visible.ts'

/** Which environment a client speaks for, and the token that its changes carry. */
interface Speaker {
  readonly environment: Environment
  readonly csrfToken: string
}

/**
 * The client of the service that served this page. The session's cookie, which no script can read, says who
 * calls; before a sign-in there is no speaker.
 */
export function createPurser(speaker?: Speaker): Purser {
  return new Purser({
    apiKey: null,
    baseUrl: location.origin,
    // A person waits: one attempt more is felt, and the query library offers to try again.
    maxRetries: 1,
    fetch: async (input, init) =>
      visibleAnswer(await fetch(input, { ...init, ...sameOrigin, headers: headersOf(init, speaker) })),
  })
}

const sameOrigin = { credentials: 'same-origin', redirect: 'error', cache: 'no-store' } as const

function headersOf(init: RequestInit | undefined, speaker: Speaker | undefined): Headers {
  const headers = new Headers(init?.headers)
  if (speaker) {
    headers.set('x-purser-console', speaker.csrfToken)
    headers.set('x-purser-environment', speaker.environment)
  }
  return headers
}
