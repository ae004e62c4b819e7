import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The last step of `npm ci` in a clone: builds the console, so that `npm start` serves it. */
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
  // The service works without a console, so a failed build must not stop the installation.
  if (build.status !== 0) {
    console.error('The console could not be built; `npm run build:console` shows why.')
  }
}
