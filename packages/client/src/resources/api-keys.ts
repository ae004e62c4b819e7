import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { ApiKey, IssuedApiKey, ListApiKeysQuery, NewApiKey, RevokeApiKeyQuery } from '../wire-types.ts'

export type ApiKeys = ReturnType<typeof apiKeys>

export function apiKeys(send: Send) {
  return {
    /** Issues an API key; its secret text is returned only once. */
    create: async (body: NewApiKey, options?: CallOptions): Promise<IssuedApiKey> =>
      (await send({ method: 'POST', path: '/accounts/api-keys', body }, options)).body as IssuedApiKey,
    /**
     * The API keys of the account, in both environments, without their secret text; operators may specify
     * another account.
     */
    list: (query?: ListApiKeysQuery, options?: CallOptions): List<ApiKey> =>
      listOf(send, '/accounts/api-keys', query, options),
    /** Revokes an API key permanently; operators must specify the key's account if it is another one. */
    revoke: async (id: string, options?: CallOptions & RevokeApiKeyQuery): Promise<ApiKey> => {
      const query = { account_id: options?.account_id }
      return (await send({ method: 'DELETE', path: path`/accounts/api-keys/${id}`, query }, options))
        .body as ApiKey
    },
  }
}
