import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { CreatedAccount, NewAccount } from '../wire-types.ts'

export type Accounts = ReturnType<typeof accounts>

export function accounts(send: Send) {
  return {
    /** Creates an account, with an owner key of each environment. */
    create: async (body: NewAccount, options?: CallOptions): Promise<CreatedAccount> =>
      (await send({ method: 'POST', path: '/accounts', body }, options)).body as CreatedAccount,
  }
}
