import { join } from 'node:path'

import { projectFolder } from '../../tools/source-files.ts'

/**
 * For the environment of a test's process: it reads the code compiled by earlier processes, which halves its
 * startup time.
 */
export const compileCache = {
  NODE_COMPILE_CACHE:
    process.env['NODE_COMPILE_CACHE'] ?? join(projectFolder, 'node_modules/.cache/purser-compiled'),
}
