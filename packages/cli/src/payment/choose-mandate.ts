import type { Mandate, Purser } from '@purser/client'

import { pageSize } from '../commands/list-items.ts'
import { CommandError } from '../exit-codes.ts'
import type { Io } from '../io.ts'

/**
 * The mandate with that id, or the only active one that the key sees. If none is active, the only paused one, for
 * which the service's denial explains the remedy. Throws a `CommandError` if --mandate is needed.
 */
export async function chooseMandate(
  { mandates }: Pick<Purser, 'mandates'>,
  id: string | undefined,
  { calledAs, interruption }: Pick<Io, 'calledAs' | 'interruption'>,
): Promise<Mandate> {
  const signal = interruption()
  if (id !== undefined) return mandates.get(id, { signal })
  const seen = await mandates.list({ limit: pageSize }, { signal }).toArray({ limit: pageSize })
  const those = (status: Mandate['status']) => seen.filter((mandate) => mandate.status === status)
  const active = those('active')
  const [only, ...others] = active.length > 0 ? active : those('paused')
  if (only && others.length === 0) return only
  throw new CommandError(
    only
      ? `--mandate is missing, and this key sees ${others.length + 1} ${only.status} ones; ${calledAs} mandates list shows them`
      : `--mandate is missing, and this key sees no active one; its owner can create one with ${calledAs} mandates create`,
    'usage',
  )
}
