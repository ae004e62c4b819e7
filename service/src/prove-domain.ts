import { Resolver } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'

import ipaddr from 'ipaddr.js'

import type { DomainChallenge } from './domain/seller-verification.ts'
import { codeOf } from './store/error-code.ts'

/** The result of a domain check: `proved`, or the reason as a sentence for the owner. */
export type ProveDomain = (
  domain: string,
  challenge: DomainChallenge,
) => Promise<'proved' | { missing: string }>

export interface DomainProverOptions {
  /** Default: the system's DNS servers. */
  readonly resolver?: Pick<Resolver, 'resolveTxt' | 'resolve4' | 'resolve6'>
  /** Whether the file may be fetched from an address; by default only from public ones. */
  readonly mayConnectTo?: (address: string) => boolean
  /** Overrides of port 443 for tests. */
  readonly connection?: Pick<RequestOptions, 'port' | 'ca'>
}

/** Timeouts for a DNS query, and for fetching the file. */
const timeoutMs = 5_000
/** Max bytes of the file. */
const maxFileBytes = 4_096

/**
 * Looks for challenges in DNS, then in a file on the domain. The file is fetched only over https on port 443,
 * from an address that is resolved once and must be public, without redirects: otherwise a seller, who
 * chooses the domain, could make the service read internal addresses.
 */
export function createDomainProver({
  resolver = new Resolver({ timeout: timeoutMs / 2, tries: 2 }),
  mayConnectTo = isPublicAddress,
  connection = {},
}: DomainProverOptions = {}): ProveDomain {
  async function addressOf(domain: string): Promise<string | { missing: string }> {
    const found = await Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)])
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const [address] = addresses
    if (address === undefined) {
      const codes = found.flatMap((one) => (one.status === 'rejected' ? (failureOf(one.reason) ?? []) : []))
      return {
        missing: codes[0]
          ? `the address of ${domain} could not be looked up (${codes[0]})`
          : `${domain} has no address in DNS`,
      }
    }
    if (!addresses.every(mayConnectTo)) return { missing: `${domain} has an address that is not public` }
    return address
  }

  return async (domain, { recordName, fileUrl, text }) => {
    let noRecord = 'no TXT record has the text'
    try {
      const records = await resolver.resolveTxt(recordName)
      if (records.some((chunks) => chunks.join('').trim() === text)) return 'proved'
    } catch (error) {
      const code = failureOf(error)
      noRecord = code ? `the TXT record could not be looked up (${code})` : 'there is no TXT record'
    }
    const address = await addressOf(domain)
    if (typeof address !== 'string') return { missing: `${noRecord}, and ${address.missing}` }
    const file = await fetchFile({ url: new URL(fileUrl), address, connection })
    if ('missing' in file) return { missing: `${noRecord}, and ${file.missing}` }
    if (file.text.split('\n').some((line) => line.trim() === text)) return 'proved'
    return { missing: `${noRecord}, and no line of the file is the text` }
  }
}

/** The code of a failed look-up; undefined if DNS has answered that there is no such record. */
function failureOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return ['ENODATA', 'ENOTFOUND'].includes(code) ? undefined : code
}

/** Whether an address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // Check IPv4-mapped IPv6 addresses as IPv4.
  const parsed = ipaddr.process(address)
  return ipaddr.subnetMatch(parsed, { notPublic }, parsed.range()) === 'unicast'
}

/** Ranges that the library takes for public: IPv4 addresses as IPv6, and Azure's metadata service. */
const notPublic = [ipaddr.parseCIDR('::/96'), ipaddr.parseCIDR('168.63.129.16/32')]

interface FileRequest {
  readonly url: URL
  readonly address: string
  readonly connection: Pick<RequestOptions, 'port' | 'ca'>
}

function fetchFile({
  url,
  address,
  connection,
}: FileRequest): Promise<{ text: string } | { missing: string }> {
  return new Promise((resolve) => {
    const asked = request(
      {
        // Connect to the resolved address, without a second look-up; the certificate must still be the
        // domain's.
        host: address,
        port: 443,
        servername: url.hostname,
        path: url.pathname,
        headers: { host: url.hostname, accept: 'text/plain', 'user-agent': 'purser' },
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        ...connection,
      },
      (answer) => {
        if (answer.statusCode !== 200) return refuse(answer)
        const chunks: Buffer[] = []
        let bytes = 0
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          chunks.push(chunk)
          if (bytes <= maxFileBytes) return
          asked.destroy()
          resolve({ missing: `the file has more than ${maxFileBytes} bytes` })
        })
        answer.on('end', () => resolve({ text: Buffer.concat(chunks).toString() }))
        answer.on('error', () => resolve({ missing: 'the file was interrupted' }))
      },
    )
    asked.on('error', (error) => resolve({ missing: explain(error) }))
    // Without a listener, Node would report nothing about this response, not even an error.
    asked.on('upgrade', refuse)
    asked.end()

    function refuse({ statusCode, socket }: IncomingMessage): void {
      socket.destroy()
      resolve({ missing: `the file was answered ${statusCode}; redirects are not followed` })
    }
  })
}

function explain(error: Error): string {
  if (error.name === 'AbortError' || error.name === 'TimeoutError') {
    return `the file did not arrive within ${timeoutMs / 1_000} s`
  }
  return `the file could not be fetched (${codeOf(error)})`
}
