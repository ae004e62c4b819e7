import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { ApiKey, IssuedApiKey, ListApiKeysQuery, NewApiKey, RevokeApiKeyQuery } from '../wire-types.ts'

export type ApiKeys = ReturnType<typeof apiKeys>

export function apiKeys(send: Send) {
  return {
    /**
     * Issues an API key; its secret text, `key`, is in this response only. Sent once: after a `ConnectionError` it may
     * exist. Throws a `NotFoundError` for an unknown agent, and a `ConflictError` with the code `agent_revoked` for a
     * revoked one.
     *
     * @example
     * const issued = await purser.apiKeys.create({ role: 'agent', environment: 'sandbox', agent_id: agentId })
     * const agentClient = new Purser({ apiKey: issued.key })
     */
    create: async (body: NewApiKey, options?: CallOptions): Promise<IssuedApiKey> =>
      (await send({ method: 'POST', path: '/accounts/api-keys', body }, options)).body as IssuedApiKey,
    /**
     * The API keys of the account, in both environments, without their secret text; operators may specify another
     * account.
     *
     * @example
     * for await (const { id, role, label } of purser.apiKeys.list()) console.log(id, role, label)
     */
    list: (query?: ListApiKeysQuery, options?: CallOptions): List<ApiKey> =>
      listOf(send, '/accounts/api-keys', query, options),
    /**
     * Revokes an API key permanently; operators must specify the key's account if it is another one. Throws a
     * `NotFoundError` for an unknown key, and a `ConflictError` with the code `last_owner_key` for the account's last
     * one (Endpoints).
     *
     * @example
     * await purser.apiKeys.revoke(keyId)
     */
    revoke: async (id: string, options?: CallOptions & RevokeApiKeyQuery): Promise<ApiKey> => {
      const query = { account_id: options?.account_id }
      return (await send({ method: 'DELETE', path: path`/accounts/api-keys/${id}`, query }, options))
        .body as ApiKey
    },
  }
}
