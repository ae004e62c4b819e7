import { readFileSync } from 'node:fs'

import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Where the service answers while the console is developed with `npm run dev -w console`. */
const service = process.env['PURSER_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  plugins: [react(), fontLicences()],
  build: {
    outDir: '../service/console',
    emptyOutDir: true,
    target: 'baseline-widely-available',
    // The Content-Security-Policy admits no data: address, so a small file stays a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What others wrote goes on with their terms, in the package and to browsers.
    license: { fileName: 'licences/libraries.md' },
  },
  server: {
    // The host stays this server's own: the service refuses what another site asks for.
    proxy: Object.fromEntries(
      [
        '/console/sign-in',
        '/v1',
        '/accounts',
        '/agents',
        '/mandates',
        '/sellers',
        '/openapi.json',
        '/docs',
        '/healthz',
        '/readyz',
      ].map((path) => [path, { target: service, changeOrigin: false }]),
    ),
  },
})

/** Puts the licences of the fonts beside those of the libraries: a font is no module, so `license` misses it. */
function fontLicences(): Plugin {
  return {
    name: 'font-licences',
    generateBundle() {
      for (const font of ['inter', 'jetbrains-mono']) {
        const licence = new URL(`../node_modules/@fontsource-variable/${font}/LICENSE`, import.meta.url)
        this.emitFile({ type: 'asset', fileName: `licences/${font}.txt`, source: readFileSync(licence) })
      }
    },
  }
}
