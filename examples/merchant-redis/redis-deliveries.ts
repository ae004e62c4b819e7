import type { DeliveryStore } from '@purser/merchant'
import { createClient } from 'redis'

interface Options {
  readonly prefix?: string
  readonly onError?: (error: unknown) => void
}

/** Deliveries in Redis, for the processes of a merchant on several machines. The address is such as `redis://127.0.0.1:6379`. */
export async function redisDeliveries(
  url: string,
  { prefix = 'purser:delivery:', onError = console.error }: Options = {},
): Promise<DeliveryStore & { readonly close: () => Promise<void> }> {
  const redis = createClient({
    url,
    socket: { connectTimeout: 5_000 },
    // While Redis is away, requests get their 503 at once instead of waiting for it to come back.
    disableOfflineQueue: true,
  })
  redis.on('error', onError)
  await redis.connect()

  return {
    read: async (id) => (await redis.get(prefix + id)) ?? undefined,
    replace: async (id, from, to) => {
      const values = [from ?? '', to?.text ?? '', String(to?.keepUntilMs ?? 0)]
      return (await redis.eval(compareAndSwap, { keys: [prefix + id], arguments: values })) === 1
    },
    close: () => redis.close(),
  }
}

/** Redis runs a script in one step: nobody else reads or writes meanwhile. An empty text stands for nothing. */
const compareAndSwap = `
  local found = redis.call('get', KEYS[1]) or ''
  if found ~= ARGV[1] then return 0 end
  if ARGV[2] == '' then redis.call('del', KEYS[1])
  else redis.call('set', KEYS[1], ARGV[2], 'pxat', ARGV[3]) end
  return 1`
