import { join } from 'node:path'

import type { Io } from '../io.ts'

/** The folder for purchases with an id, following the XDG base directory specification. */
export function purchasesFolder({ environment, homeFolder }: Pick<Io, 'environment' | 'homeFolder'>): string {
  const configured = environment['XDG_STATE_HOME']
  // The specification requires absolute paths.
  const folder = configured?.startsWith('/') ? configured : join(homeFolder, '.local', 'state')
  return join(folder, 'purser', 'purchases')
}
