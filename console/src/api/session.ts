import { AuthenticationError, type Session } from '@purser/client'
import { useMutation, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'

import { closeToasts, sayFailed } from '../ui/toast.tsx'
import { explainFailure } from './failures.ts'
import { createPurser } from './purser.ts'
import { statusPollMs } from './status-poll.ts'
import { forgetTypedForms, keepTypedForms } from './typed.ts'
import { forgetKeys } from './unsaved-keys.ts'

const sessionKey = ['session']

/** How often to ask whose session it is: another window may have signed in as somebody else. */
const pollMs = 10_000

/** The session of this browser's cookie: null when nobody is signed in. */
export function useSession() {
  const queries = useQueryClient()
  return useQuery({
    queryKey: sessionKey,
    queryFn: async ({ signal }): Promise<Session | null> => {
      try {
        const session = await createPurser().console.session({ signal })
        sessionStorage.removeItem(expiredMark)
        const before = queries.getQueryData<Session | null>(sessionKey)
        // The same object, so that nothing is connected anew.
        if (before?.id === session.id) return before
        if (before) {
          keepTypedForms()
          forgetTheRest(queries)
        }
        return session
      } catch (error) {
        if (!(error instanceof AuthenticationError)) throw error
        expireSession(queries)
        return null
      }
    },
    staleTime: Infinity,
    refetchOnWindowFocus: 'always',
    refetchInterval: ({ state }) => (state.data ? pollMs : false),
    // Retry until the service answers.
    retry: true,
    retryDelay: statusPollMs,
  })
}

/** The ways to sign in. */
export function useSignInOptions() {
  return useQuery({
    queryKey: ['sign-in'],
    queryFn: ({ signal }) => createPurser().console.signInOptions({ signal }),
    staleTime: Infinity,
    retry: true,
    retryDelay: statusPollMs,
  })
}

/** Exchanges a key, or the token of the set-up link, for a session. */
export function useSignIn() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (secret: { api_key: string } | { set_up_token: string }) =>
      createPurser().console.startSession(secret),
    onSuccess: (session) => {
      forgetTheRest(queries)
      sessionStorage.removeItem(expiredMark)
      queries.setQueryData(sessionKey, session)
    },
  })
}

/** Ends the session in the service, and clears the cache. If that fails, the cookie may still work, so nothing looks signed out. */
export function useSignOut(session: Session, environment: Session['environments'][number]) {
  const queries = useQueryClient()
  async function forget() {
    closeToasts()
    forgetTypedForms()
    forgetKeys()
    await queries.cancelQueries({ queryKey: sessionKey })
    queries.setQueryData(sessionKey, null)
    forgetTheRest(queries)
  }
  return useMutation({
    mutationFn: () => createPurser({ environment, csrfToken: session.csrf_token }).console.endSession(),
    onSuccess: forget,
    onError: (failure) => {
      if (failure instanceof AuthenticationError) return forget()
      sayFailed(`You may still be signed in. ${explainFailure(failure)}`)
      return undefined
    },
  })
}

/** Asks at once whose session it is. */
export function askWhoseSession(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: sessionKey })
}

/** Shows the sign-in screen with the reason when any request finds that the session is over. */
export function expireSession(queries: QueryClient): void {
  if (!queries.getQueryData(sessionKey)) return
  keepTypedForms()
  sessionStorage.setItem(expiredMark, '')
  queries.setQueryData(sessionKey, null)
}

/** Whether the session of this tab expired, and nobody has signed in since. */
export function isSessionExpired(): boolean {
  return sessionStorage.getItem(expiredMark) !== null
}

const expiredMark = 'purser.session-expired'

/** Data of one session must not be shown in the next one. */
function forgetTheRest(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
}
