import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { ApiKey, IssuedApiKey, NewApiKey, PageQuery } from '../wire-types.ts'

export type ApiKeys = ReturnType<typeof apiKeys>

export function apiKeys(send: Send) {
  return {
    /** Issues an API key; its text is shown once. */
    create: async (body: NewApiKey, options?: CallOptions): Promise<IssuedApiKey> =>
      (await send({ method: 'POST', path: '/accounts/api-keys', body }, options)).body as IssuedApiKey,
    /** The API keys of the account, in both environments, without their text. */
    list: (query?: PageQuery, options?: CallOptions): List<ApiKey> =>
      listOf(send, '/accounts/api-keys', query, options),
    /** Revokes an API key, for good. */
    revoke: async (id: string, options?: CallOptions): Promise<ApiKey> =>
      (await send({ method: 'DELETE', path: path`/accounts/api-keys/${id}` }, options)).body as ApiKey,
  }
}
