import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** What `npm ci` ends with in a clone: it builds the console, so that `npm start` serves it. */
const projectFolder = join(import.meta.dirname, '..')
const vite = join(projectFolder, 'node_modules/vite/bin/vite.js')

if (!existsSync(vite)) {
  console.log(
    'The console is not built: the development dependencies are left out. The service runs without it.',
  )
} else {
  const build = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: join(projectFolder, 'console'),
    stdio: 'inherit',
  })
  // The service pays without a console: what hinders the console's build must not hinder an installation.
  if (build.status !== 0) {
    console.error('The console could not be built; `npm run build:console` shows why.')
  }
}
