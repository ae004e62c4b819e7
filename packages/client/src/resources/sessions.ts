import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { AccountSession, EndSessionOfAccountQuery, ListSessionsQuery } from '../wire-types.ts'

export type Sessions = ReturnType<typeof sessions>

export function sessions(send: Send) {
  return {
    /** Who is signed in to the console as the account, newest first; an operator may name another account. */
    list: (query?: ListSessionsQuery, options?: CallOptions): List<AccountSession> =>
      listOf(send, '/accounts/sessions', query, options),
    /**
     * Ends a session: its cookie is refused from then on. A `NotFoundError` when it has ended already. An operator names
     * the account of the session when it is another.
     */
    end: async (id: string, options?: CallOptions & EndSessionOfAccountQuery): Promise<void> => {
      const query = { account_id: options?.account_id }
      await send({ method: 'DELETE', path: path`/accounts/sessions/${id}`, query }, options)
    },
  }
}
