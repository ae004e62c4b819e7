import { join } from 'node:path'

import type { Io } from '../io.ts'

/**
 * The folder for an agent's purchases with an id, following the XDG base directory specification. Another agent can
 * neither use their proofs nor look them up.
 */
export function purchasesFolder(
  agentId: string,
  { environment, homeFolder }: Pick<Io, 'environment' | 'homeFolder'>,
): string {
  const configured = environment['XDG_STATE_HOME']
  // The specification requires absolute paths.
  const folder = configured?.startsWith('/') ? configured : join(homeFolder, '.local', 'state')
  return join(folder, 'purser', 'purchases', agentId)
}
