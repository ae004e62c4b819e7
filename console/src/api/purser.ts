import { Purser, type Environment } from '@purser/client'

import { visibleAnswer } from '../text/visible.ts'

/** The environment of a client, and the CSRF token for its changes. */
interface Speaker {
  readonly environment: Environment
  readonly csrfToken: string
}

/**
 * The client for the service that served this page. The session cookie, which scripts cannot read, identifies
 * the caller; before sign-in there is no speaker.
 */
export function createPurser(speaker?: Speaker): Purser {
  return new Purser({
    apiKey: null,
    baseUrl: location.origin,
    // A person is waiting: retries would be noticeable, and the screens offer to retry.
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
