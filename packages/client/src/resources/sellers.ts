import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { NewSeller, PageQuery, ReleasedDomain, Seller, SellerVerification } from '../wire-types.ts'

export type Sellers = ReturnType<typeof sellers>

export function sellers(send: Send) {
  return {
    /** Registers a seller under its domain. */
    create: async (body: NewSeller, options?: CallOptions): Promise<Seller> =>
      (await send({ method: 'POST', path: '/sellers', body }, options)).body as Seller,
    /** The sellers of the account, newest first. */
    list: (query?: PageQuery, options?: CallOptions): List<Seller> =>
      listOf(send, '/sellers', query, options),
    /** Where to put the proof that a domain is the account's own, and whether the seller is verified. */
    verification: async (domain: string, options?: CallOptions): Promise<SellerVerification> =>
      (await send({ method: 'GET', path: path`/sellers/${domain}/verification` }, options))
        .body as SellerVerification,
    /**
     * Has the service look for that proof. While `status` is `pending`, `missing` says what was not found. A `ConflictError`
     * says that another account was first.
     *
     * @example
     * const { status, missing } = await purser.sellers.verify('api.example.com')
     */
    verify: async (domain: string, options?: CallOptions): Promise<SellerVerification> =>
      (await send({ method: 'POST', path: path`/sellers/${domain}/verification` }, options))
        .body as SellerVerification,
    /**
     * Releases a domain in the environment of the key, whoever registered it; for operators. From then on its seller collects
     * nothing from other accounts, and another account can register the domain. Past payments keep the seller's id. A
     * `NotFoundError` says that nobody has registered the domain.
     *
     * @example
     * const { seller_id, account_id } = await purser.sellers.release('api.example.com')
     */
    release: async (domain: string, options?: CallOptions): Promise<ReleasedDomain> =>
      (await send({ method: 'DELETE', path: path`/sellers/domains/${domain}` }, options))
        .body as ReleasedDomain,
  }
}
