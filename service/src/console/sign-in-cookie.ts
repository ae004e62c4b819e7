import { createHmac, hkdfSync } from 'node:crypto'

import { equalInConstantTime } from '../domain/proof.ts'

/** The start of a sign-in with the identity provider. */
export const oidcPath = '/console/sign-in'

/** What the callback of a sign-in must match. */
export interface SignInUnderWay {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly startedAtMs: number
  /** The path of the screen to return to. */
  readonly returnTo: string
}

export interface SignInCookieOptions {
  readonly key: Buffer
  readonly isSecure: boolean
  readonly now: () => number
}

/** The key of these cookies, derived from the proof secret, so that no other secret is needed. */
export function deriveSignInKey(proofSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', proofSecret, '', 'purser console sign-in', 32))
}

const plainName = 'purser-sign-in'
const lifeMs = 10 * 60_000

/**
 * The cookie that binds a sign-in to its browser. It is `Lax`, because it is sent with the redirect from the
 * identity provider, another site; by itself it grants no access. Over TLS, no other subdomain can set it.
 */
export function createSignInCookies({ key, isSecure, now }: SignInCookieOptions) {
  const name = isSecure ? `__Host-${plainName}` : plainName
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url')

  return {
    write(underWay: SignInUnderWay): string {
      const text = Buffer.from(JSON.stringify(underWay)).toString('base64url')
      return `${name}=${text}.${sign(text)}; Max-Age=${lifeMs / 1_000}; ${attributes}`
    },

    end: (): string => `${name}=; Max-Age=0; ${attributes}`,

    /** The pending sign-in of this browser; undefined if there is none, or if it expired. */
    read(cookie: string | undefined): SignInUnderWay | undefined {
      const [, text = '', mac = ''] =
        new RegExp(`(?:^|; *)${name}=([\\w-]+)\\.([\\w-]+)`).exec(cookie ?? '') ?? []
      if (!equalInConstantTime(mac, sign(text))) return undefined
      const underWay = JSON.parse(Buffer.from(text, 'base64url').toString()) as SignInUnderWay
      // Negative if the clock of the service that has started it is ahead.
      const ageMs = now() - underWay.startedAtMs
      return Math.abs(ageMs) < lifeMs ? underWay : undefined
    },
  }
}
