import type { Config } from '../settings/config.ts'
import { placeOfLedger, placeOfSecret } from '../start/open-store.ts'
import type { RunningService } from '../start/start.ts'

/** What a start prints: the URL, the location of the data, and the next step. */
export function welcome(
  { url, minted, metricsUrl }: Pick<RunningService, 'url' | 'minted' | 'metricsUrl'>,
  config: Config,
): string {
  const lines = ['', `  Purser is ready at ${url}`, '', `  Reference   ${url}/docs`]
  lines.push(
    `  Console     ${minted?.setUpToken ? setUpLink(url, minted.setUpToken, config) : `${publicUrl(url, config)}/console`}`,
  )
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
    lines.push(`  export PURSER_URL=${publicUrl(url, config)}`)
    if (minted.sandbox) lines.push(`  export PURSER_SANDBOX_KEY=${minted.sandbox}`)
    if (minted.production) lines.push(`  export PURSER_PRODUCTION_KEY=${minted.production}`)
  }
  if (!minted)
    lines.push('  Keys        from the first start; if they are lost: npx purser keys issue --operator')
  if (minted) lines.push('', '  Next, create an agent:', '', ...firstRequest(url, minted.sandbox))
  return [...lines, ''].join('\n')
}

function setUpLink(url: string, token: string, config: Config): string {
  return `${publicUrl(url, config)}/console/set-up#${token} (signs you in, once, within an hour)`
}

/** The public URL of the service. */
function publicUrl(url: string, config: Config): string {
  return config.publicUrl?.replace(/\/$/, '') ?? url
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
