import { join } from 'node:path'

import type { Surroundings } from '../surroundings.ts'

/** Where purchases with an id are remembered, as the XDG base directories have it. */
export function purchasesFolder({
  environment,
  homeFolder,
}: Pick<Surroundings, 'environment' | 'homeFolder'>): string {
  const configured = environment['XDG_STATE_HOME']
  // The specification takes no relative path.
  const folder = configured?.startsWith('/') ? configured : join(homeFolder, '.local', 'state')
  return join(folder, 'purser', 'purchases')
}
