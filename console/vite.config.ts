import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Where the service answers while the console is developed with `npm run dev -w console`. */
const service = process.env['PURSER_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: '../service/console',
    emptyOutDir: true,
    target: 'baseline-widely-available',
    // The Content-Security-Policy admits no data: address, so a small file stays a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
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
