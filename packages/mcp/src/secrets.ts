/**
 * Secrets that no model may see: the agent's key and the proofs that were sent. Everything for a model or a log goes
 * through `clean`, because a merchant may echo them.
 */
export class Secrets {
  /** Kept for the lifetime of the process. */
  readonly #lasting: string[]
  /** From the latest payments; a proof expires after minutes. */
  readonly #passing: string[] = []

  constructor(...lasting: string[]) {
    this.#lasting = lasting.filter((secret) => secret !== '')
  }

  add(...secrets: string[]): void {
    this.#passing.push(...secrets.filter((secret) => !this.#passing.includes(secret)))
    this.#passing.splice(0, Math.max(0, this.#passing.length - maxPassing))
  }

  /** The value with every secret in its text redacted. */
  clean<T>(value: T): T {
    if (typeof value === 'string') return this.#cleanText(value) as T
    if (Array.isArray(value)) return value.map((item) => this.clean(item)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.clean(item)])) as T
  }

  areIn(bytes: Buffer): boolean {
    return this.#all().some((secret) => bytes.includes(secret))
  }

  #cleanText(text: string): string {
    let cleaned = text
    for (const secret of this.#all()) cleaned = cleaned.replaceAll(secret, '[withheld]')
    return cleaned
  }

  #all(): string[] {
    return [...this.#passing, ...this.#lasting]
  }
}

const maxPassing = 256
