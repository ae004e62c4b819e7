import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

import { PurserError } from '@purser/client'
import ipaddr from 'ipaddr.js'

/** Why a request to a URL is refused. */
export class AddressRefusal extends Error {
  override readonly name = 'AddressRefusal'
  /** Whether adding its host to the private hosts would allow the request. */
  readonly canBeAllowed: boolean
  constructor(message: string, { canBeAllowed }: { readonly canBeAllowed: boolean }) {
    super(message)
    this.canBeAllowed = canBeAllowed
  }
}

/**
 * Decides which hosts may be contacted. A model chooses the URLs, possibly influenced by what it has read, so hosts
 * outside the public internet are contacted only if a setting names them.
 */
export class AddressGuard {
  readonly #privateHosts: ReadonlySet<string>

  /**
   * @param privateHosts Hosts, or `host:port`, that may be private and without TLS. Throws a `PurserError` for one that no
   * URL has.
   */
  constructor(privateHosts: readonly string[]) {
    const wrong = privateHosts.find((host) => !canBeHost(host))
    if (wrong !== undefined) {
      throw new PurserError(
        `privateHosts must be hosts such as localhost:3000, without scheme, path and *, not ${JSON.stringify(wrong)}`,
      )
    }
    this.#privateHosts = new Set(privateHosts.map((host) => host.toLowerCase()))
  }

  /** Throws an `AddressRefusal` if the URL itself is not allowed. */
  check(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw new AddressRefusal(`Only https URLs are allowed, not ${url.protocol}`, {
        canBeAllowed: false,
      })
    }
    if (url.username !== '' || url.password !== '') {
      throw new AddressRefusal('URLs with a user name or password are not allowed.', {
        canBeAllowed: false,
      })
    }
    if (this.#isNamed(url)) return
    if (url.protocol === 'http:') {
      throw new AddressRefusal(`${url.host} would be contacted without TLS; use its https URL.`, {
        canBeAllowed: true,
      })
    }
    // IP addresses are never resolved, so they are checked here.
    if (isPrivate(bare(url.hostname))) {
      throw new AddressRefusal(`${url.host} is not on the public internet.`, { canBeAllowed: true })
    }
  }

  /** The lookup for the connection. It returns public addresses only, so DNS rebinding cannot reach private ones. */
  lookupFor(url: URL): LookupFunction {
    const isNamed = this.#isNamed(url)
    return (hostname, options, callback) => {
      lookup(hostname, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, [])
        const usable = isNamed ? found : found.filter(({ address }) => !isPrivate(address))
        const [first] = usable
        if (!first) {
          return callback(
            new AddressRefusal(`${hostname} is not on the public internet.`, { canBeAllowed: true }),
            [],
          )
        }
        if (options.all) callback(null, usable)
        else callback(null, first.address, first.family)
      })
    }
  }

  #isNamed(url: URL): boolean {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80')
    const host = bare(url.hostname)
    return (
      this.#privateHosts.has(host) ||
      this.#privateHosts.has(`${host}:${port}`) ||
      this.#privateHosts.has(`${url.hostname}:${port}`)
    )
  }
}

/** False for a URL, a range, a pattern or a list. */
export function canBeHost(text: string): boolean {
  return /^[^\s/,@?#*]+$/.test(text)
}

/** Whether an IP address is in a range that is not routed on the public internet; false for names. */
export function isPrivate(address: string): boolean {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.process(address)
  return ipaddr.subnetMatch(parsed, { alsoPrivate }, parsed.range()) !== 'unicast'
}

/** Ranges that the library takes for public: IPv4 addresses as IPv6, and Azure's metadata service. */
const alsoPrivate = [ipaddr.parseCIDR('::/96'), ipaddr.parseCIDR('168.63.129.16/32')]

/** The host of a URL without the brackets of IPv6. */
function bare(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
