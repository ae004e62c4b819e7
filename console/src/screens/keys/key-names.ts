import type { ListedApiKey } from '@purser/client'

import { useRead } from '../../api/queries.ts'

/** Most keys whose names are looked up; what others did is shown with their ids. */
const namedKeys = 500

/** What a key is called: its label, else whose it is. */
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
