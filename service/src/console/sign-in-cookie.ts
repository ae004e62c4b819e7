import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** What a sign-in at the identity provider must come back with. */
export interface SignInUnderWay {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly startedAtMs: number
  /** The path of the screen that somebody was on. */
  readonly returnTo: string
}

export interface SignInCookieOptions {
  readonly key: Buffer
  readonly isSecure: boolean
  readonly now: () => number
}

/** The key of these cookies, from what the service signs its proofs with: no secret of its own to keep. */
export function deriveSignInKey(proofSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', proofSecret, '', 'purser console sign-in', 32))
}

const name = 'purser-sign-in'
const lifeMs = 10 * 60_000

/**
 * The cookie that ties a sign-in to the browser that began it. It comes back on the way from the identity
 * provider, another site, so it is `Lax`; it opens nothing by itself.
 */
export function createSignInCookies({ key, isSecure, now }: SignInCookieOptions) {
  const attributes = `Path=/console/sign-in; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`

  function sign(text: string): Buffer {
    return createHmac('sha256', key).update(text).digest()
  }

  return {
    write(underWay: SignInUnderWay): string {
      const text = Buffer.from(JSON.stringify(underWay)).toString('base64url')
      return `${name}=${text}.${sign(text).toString('base64url')}; Max-Age=${lifeMs / 1_000}; ${attributes}`
    },

    end: (): string => `${name}=; Max-Age=0; ${attributes}`,

    /** What this browser began, not too long ago; undefined when it began nothing. */
    read(cookie: string | undefined): SignInUnderWay | undefined {
      const [, text = '', mac = ''] =
        new RegExp(`(?:^|; *)${name}=([\\w-]+)\\.([\\w-]+)`).exec(cookie ?? '') ?? []
      const given = Buffer.from(mac, 'base64url')
      const expected = sign(text)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const underWay = JSON.parse(Buffer.from(text, 'base64url').toString()) as SignInUnderWay
      const ageMs = now() - underWay.startedAtMs
      return ageMs >= 0 && ageMs < lifeMs ? underWay : undefined
    },
  }
}
