import { join } from 'node:path'

import type { Surroundings } from '../surroundings.ts'

/** The folder for purchases with an id, following the XDG base directory specification. */
export function purchasesFolder({
  environment,
  homeFolder,
}: Pick<Surroundings, 'environment' | 'homeFolder'>): string {
  const configured = environment['XDG_STATE_HOME']
  // The specification requires absolute paths.
  const folder = configured?.startsWith('/') ? configured : join(homeFolder, '.local', 'state')
  return join(folder, 'purser', 'purchases')
}
