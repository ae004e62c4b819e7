import type { DeliveryStore } from '@purser/merchant'
import { createClient } from 'redis'

interface Options {
  readonly prefix?: string
  readonly onError?: (error: unknown) => void
}

/**
 * A delivery store in Redis, shared by a merchant's processes on several machines. `url` looks like
 * `redis://127.0.0.1:6379`.
 */
export async function redisDeliveries(
  url: string,
  { prefix = 'purser:delivery:', onError = console.error }: Options = {},
): Promise<DeliveryStore & { readonly close: () => Promise<void> }> {
  const redis = createClient({
    url,
    socket: { connectTimeout: 5_000 },
    // While Redis is down, requests get a 503 at once instead of waiting for it.
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

/** Redis runs a script atomically. An empty string means no value. */
const compareAndSwap = `
  local found = redis.call('get', KEYS[1]) or ''
  if found ~= ARGV[1] then return 0 end
  if ARGV[2] == '' then redis.call('del', KEYS[1])
  else redis.call('set', KEYS[1], ARGV[2], 'pxat', ARGV[3]) end
  return 1`
