import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type {
  GetSettlementsQuery,
  NewSeller,
  PageQuery,
  ReleasedDomain,
  Seller,
  SellerVerification,
  Settlement,
} from '../wire-types.ts'

export type Sellers = ReturnType<typeof sellers>

export function sellers(send: Send) {
  return {
    /**
     * Registers a seller under its domain, so that its account can collect there. Sent once: after a `ConnectionError`
     * it may exist. Throws a `ConflictError` with the code `seller_exists` if the domain is taken (Endpoints).
     *
     * @example
     * await purser.sellers.create({ name: 'Example data', domain: 'api.example.com', price_config: {} })
     */
    create: async (body: NewSeller, options?: CallOptions): Promise<Seller> =>
      (await send({ method: 'POST', path: '/sellers', body }, options)).body as Seller,
    /**
     * The sellers of the account, newest first (Endpoints).
     *
     * @example
     * for await (const { id, domain } of purser.sellers.list()) console.log(id, domain)
     */
    list: (query?: PageQuery, options?: CallOptions): List<Seller> =>
      listOf(send, '/sellers', query, options),
    /**
     * How to verify the domain of a seller, and whether it is verified. Throws a `NotFoundError` for an unknown domain.
     *
     * @example
     * const { status, missing } = await purser.sellers.verification('api.example.com')
     */
    verification: async (domain: string, options?: CallOptions): Promise<SellerVerification> =>
      (await send({ method: 'GET', path: path`/sellers/${domain}/verification` }, options))
        .body as SellerVerification,
    /**
     * Runs the domain check. While `status` is `pending`, `missing` says what was not found. Throws a
     * `ConflictError` if another account was first.
     *
     * @example
     * const { status, missing } = await purser.sellers.verify('api.example.com')
     */
    verify: async (domain: string, options?: CallOptions): Promise<SellerVerification> =>
      (await send({ method: 'POST', path: path`/sellers/${domain}/verification` }, options))
        .body as SellerVerification,
    /**
     * What a seller has collected and refunded, by UTC day.
     *
     * @example
     * const { days, total } = await purser.sellers.settlements(id, { from: '2026-11-01', to: '2026-11-30' })
     */
    settlements: async (
      id: string,
      query?: GetSettlementsQuery,
      options?: CallOptions,
    ): Promise<Settlement> =>
      (await send({ method: 'GET', path: path`/v1/sellers/${id}/settlements`, query }, options))
        .body as Settlement,
    /**
     * Releases a domain in the environment of the key, whoever registered it; for operators. From then on its
     * seller cannot collect from other accounts, and another account can register the domain. Past payments
     * keep the seller's id. Throws a `NotFoundError` if the domain is not registered.
     *
     * @example
     * const { seller_id, account_id } = await purser.sellers.release('api.example.com')
     */
    release: async (domain: string, options?: CallOptions): Promise<ReleasedDomain> =>
      (await send({ method: 'DELETE', path: path`/sellers/domains/${domain}` }, options))
        .body as ReleasedDomain,
  }
}
