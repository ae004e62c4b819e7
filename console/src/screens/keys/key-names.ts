import type { ListedApiKey } from '@purser/client'

import { useRead } from '../../api/queries.ts'

/** Max keys to resolve by name; others are shown by id. */
const namedKeys = 500

/** The display name of a key: its label, else its owner. */
export function nameOfKey({ label, agent_name, role }: ListedApiKey): string {
  return label || agent_name || `${role} key`
}

/** The names of the account's keys by their ids. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const { data } = useRead('key-names', (purser, signal) =>
    purser.console.apiKeys.list({ limit: 200 }, { signal }).toArray({ limit: namedKeys }),
  )
  return new Map(data?.map((key) => [key.id, nameOfKey(key)]))
}
