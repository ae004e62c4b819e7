import type { Config } from '../settings/config.ts'
import { placeOfLedger, placeOfSecret } from '../start/open-store.ts'
import type { RunningService } from '../start/start.ts'

/** What a start prints: the URL, the location of the data, and the next step, with commands spelled like `calledAs`. */
export function welcome(
  { url, minted, metricsUrl }: Pick<RunningService, 'url' | 'minted' | 'metricsUrl'>,
  config: Config,
  calledAs: string,
): string {
  const here = reached(url)
  const site = config.publicUrl?.replace(/\/$/, '') ?? here
  const lines = ['', `  Purser is ready at ${url}`, '', `  Reference   ${here}/docs`]
  lines.push(`  Console     ${site}/console${setUp(minted?.setUpToken)}`)
  lines.push(`  Data        ${placeOfLedger(config.database)}`)
  if (config.proofSecrets.length === 0) lines.push(`  Secret      ${placeOfSecret(config.database)}`)
  if (metricsUrl !== undefined) lines.push(`  Metrics     ${metricsUrl}`)
  if (config.workers > 1) lines.push(`  Processes   ${config.workers}`)
  if (minted && (minted.sandbox || minted.production)) {
    lines.push(
      '',
      "  Your operator keys and the service's URL. The keys are shown only once: save them now.",
      '',
    )
    lines.push(`  export PURSER_URL=${site}`)
    if (minted.sandbox) lines.push(`  export PURSER_SANDBOX_KEY=${minted.sandbox}`)
    if (minted.production) lines.push(`  export PURSER_PRODUCTION_KEY=${minted.production}`)
  }
  if (!minted)
    lines.push(`  Keys        from the first start; if they are lost: ${calledAs} keys issue --operator`)
  if (minted) lines.push('', '  Next, create an agent:', '', ...firstRequest(here, minted.sandbox))
  return [...lines, ''].join('\n')
}

/** Its URL on this machine: a browser cannot open the address of a service that listens on all of them. */
function reached(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}

function setUp(token: string | undefined): string {
  return token ? `/set-up#${token} (signs you in, once, within an hour)` : ''
}

function firstRequest(url: string, sandboxKey: string | undefined): string[] {
  const key = sandboxKey ?? '$PURSER_BOOTSTRAP_SANDBOX_KEY'
  return [
    `  curl ${url}/agents \\`,
    `    -H "Authorization: Bearer ${key}" \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '{"name":"research-bot"}'`,
  ]
}
