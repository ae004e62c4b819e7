import { codePoints } from './text.ts'

/** The error in a JSON text and its position in code points. */
export interface JsonError {
  readonly error: string
  readonly position: number
}

interface Limits {
  readonly maxDepth: number
  readonly maxIntegerDigits: number
}

/**
 * The first error in a JSON text, with the message and position of Python's `json` module; `unreadable` if a limit is
 * exceeded first; undefined if the text is valid.
 */
export function findJsonError(text: string, limits: Limits): JsonError | 'unreadable' | undefined {
  const scanner = new Scanner(text, limits)
  const error = scanner.document()
  if (error === undefined || error === 'unreadable') return error
  return { error: error, position: codePoints(text.slice(0, scanner.at)) }
}

const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y
const word = /true|false|null/y
const spaces = /[ \t\n\r]*/y
// oxlint-disable-next-line no-control-regex -- they are not allowed in a string
const plainText = /[^"\\\0-\x1f]*/y
const fourHexDigits = /[0-9a-fA-F]{4}/y

/** Walks over a text. Each method parses one part and returns the error found, with `at` at its position. */
class Scanner {
  readonly #text: string
  readonly #limits: Limits
  at = 0

  constructor(text: string, limits: Limits) {
    this.#text = text
    this.#limits = limits
  }

  document(): string | undefined {
    this.#pass(spaces)
    const error = this.#value(0)
    if (error !== undefined) return error
    this.#pass(spaces)
    return this.at < this.#text.length ? 'Extra data' : undefined
  }

  #value(depth: number): string | undefined {
    const first = this.#text[this.at]
    if (first === '"') return this.#string()
    if (first === '{' || first === '[') {
      if (depth === this.#limits.maxDepth) return 'unreadable'
      this.at++
      return first === '{' ? this.#members(depth + 1) : this.#items(depth + 1)
    }
    if (this.#pass(word)) return undefined
    const digits = this.#pass(number)
    // Also the error for NaN and Infinity, which Python would accept.
    if (!digits) return 'Expecting value'
    const [whole, fraction, exponent] = digits
    const isInteger = fraction === undefined && exponent === undefined
    const tooLong = isInteger && whole.replace('-', '').length > this.#limits.maxIntegerDigits
    return tooLong ? 'unreadable' : undefined
  }

  #members(depth: number): string | undefined {
    this.#pass(spaces)
    if (this.#take('}')) return undefined
    for (;;) {
      if (this.#text[this.at] !== '"') return 'Expecting property name enclosed in double quotes'
      const nameError = this.#string()
      if (nameError !== undefined) return nameError
      this.#pass(spaces)
      if (!this.#take(':')) return "Expecting ':' delimiter"
      const error = this.#next(depth)
      if (error !== undefined) return error
      if (this.#take('}')) return undefined
      if (!this.#take(',')) return "Expecting ',' delimiter"
      this.#pass(spaces)
    }
  }

  #items(depth: number): string | undefined {
    this.#pass(spaces)
    if (this.#take(']')) return undefined
    for (;;) {
      const error = this.#next(depth)
      if (error !== undefined) return error
      if (this.#take(']')) return undefined
      if (!this.#take(',')) return "Expecting ',' delimiter"
    }
  }

  /** A value and the whitespace around it. */
  #next(depth: number): string | undefined {
    this.#pass(spaces)
    const error = this.#value(depth)
    if (error === undefined) this.#pass(spaces)
    return error
  }

  #string(): string | undefined {
    const start = this.at++
    for (;;) {
      this.#pass(plainText)
      if (this.#take('"')) return undefined
      if (this.at < this.#text.length && this.#text[this.at] !== '\\') return 'Invalid control character at'
      // The text ends here, or after the backslash.
      if (this.at + 1 >= this.#text.length) {
        this.at = start
        return 'Unterminated string starting at'
      }
      const error = this.#escape()
      if (error !== undefined) return error
    }
  }

  #escape(): string | undefined {
    const letter = this.#text[this.at + 1] ?? ''
    if (letter !== 'u') {
      if (!'"\\/bfnrt'.includes(letter)) return 'Invalid \\escape'
      this.at += 2
      return undefined
    }
    const digits = this.at + 2
    fourHexDigits.lastIndex = digits
    // The digits cannot end the text, because the string must be closed.
    if (!fourHexDigits.test(this.#text) || digits + 4 >= this.#text.length) {
      this.at++
      return 'Invalid \\uXXXX escape'
    }
    this.at = digits + 4
    return undefined
  }

  #pass(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.#text) ?? undefined
    if (match) this.at += match[0].length
    return match
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }
}
