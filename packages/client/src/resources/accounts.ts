import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { Account, CreatedAccount, NewAccount, PageQuery } from '../wire-types.ts'

export type Accounts = ReturnType<typeof accounts>

export function accounts(send: Send) {
  return {
    /**
     * Creates an account with an owner key for each environment; for operators. The texts of the keys are in this
     * response only. Sent once: after a `ConnectionError` it may exist. Throws a `ConflictError` with the code
     * `account_exists` if another one has the same `idp_user_id` (Endpoints).
     *
     * @example
     * const created = await purser.accounts.create({ name: 'Acme', email: 'ada@example.com', idp_user_id: 'idp_ada' })
     * const sandbox = created.api_keys.find(({ environment }) => environment === 'sandbox')
     */
    create: async (body: NewAccount, options?: CallOptions): Promise<CreatedAccount> =>
      (await send({ method: 'POST', path: '/accounts', body }, options)).body as CreatedAccount,
    /**
     * All accounts of the service, newest first; for operators.
     *
     * @example
     * for await (const { id, name, status } of purser.accounts.list()) console.log(id, name, status)
     */
    list: (query?: PageQuery, options?: CallOptions): List<Account> =>
      listOf(send, '/accounts', query, options),
    /**
     * One account. Operators can read any account, others only their own; otherwise throws a `NotFoundError`.
     *
     * @example
     * const { name, status } = await purser.accounts.get(accountId)
     */
    get: async (id: string, options?: CallOptions): Promise<Account> =>
      (await send({ method: 'GET', path: path`/accounts/${id}` }, options)).body as Account,
    /**
     * Disables an account; for operators. When this resolves, its keys and sessions no longer work, and its open proofs
     * are voided. Throws a `ConflictError` with the code `own_account` for the operator's own account, and a
     * `NotFoundError` for an unknown one.
     *
     * @example
     * const { status } = await purser.accounts.disable(accountId) // 'disabled'
     */
    disable: async (id: string, options?: CallOptions): Promise<Account> =>
      (await send({ method: 'PATCH', path: path`/accounts/${id}/disable` }, options)).body as Account,
    /**
     * Enables a disabled account; for operators. Its keys and unexpired sessions work again. Throws a `NotFoundError`
     * for an unknown one.
     *
     * @example
     * const { status } = await purser.accounts.enable(accountId) // 'active'
     */
    enable: async (id: string, options?: CallOptions): Promise<Account> =>
      (await send({ method: 'PATCH', path: path`/accounts/${id}/enable` }, options)).body as Account,
  }
}
