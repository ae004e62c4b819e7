import { paymentOf, requirePayment } from '@purser/merchant/next'

/** The shops that the test has opened in this process, by the first segment of their paths. */
const { nextShops } = globalThis
const handlers = new Map()

export async function GET(request) {
  const id = request.nextUrl.pathname.split('/')[1]
  if (!handlers.has(id)) {
    const { options, sell } = nextShops.get(id)
    handlers.set(
      id,
      requirePayment(options, (asked) => sell(asked.nextUrl.pathname, paymentOf(asked))),
    )
  }
  return handlers.get(id)(request)
}
