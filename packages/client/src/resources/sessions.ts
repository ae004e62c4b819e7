import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { AccountSession, EndSessionOfAccountQuery, ListSessionsQuery } from '../wire-types.ts'

export type Sessions = ReturnType<typeof sessions>

export function sessions(send: Send) {
  return {
    /**
     * The console sessions of the account, newest first; operators may specify another account.
     *
     * @example
     * for await (const { id, created_at } of purser.sessions.list()) console.log(id, created_at)
     */
    list: (query?: ListSessionsQuery, options?: CallOptions): List<AccountSession> =>
      listOf(send, '/accounts/sessions', query, options),
    /**
     * Ends a session: its cookie is refused from then on. Throws a `NotFoundError` if it has already ended. Operators
     * must specify the session's account if it is another one.
     *
     * @example
     * await purser.sessions.end(sessionId)
     */
    end: async (id: string, options?: CallOptions & EndSessionOfAccountQuery): Promise<void> => {
      const query = { account_id: options?.account_id }
      await send({ method: 'DELETE', path: path`/accounts/sessions/${id}`, query }, options)
    },
  }
}
