import { codePoints } from './text.ts'

/** What is wrong with a JSON text and where, in code points from its start. */
export interface JsonFault {
  readonly error: string
  readonly position: number
}

interface Limits {
  readonly maxDepth: number
  readonly maxIntegerDigits: number
}

/**
 * The first fault of a JSON text, in the words and at the position that Python's `json` module gives;
 * `unreadable` when a limit is passed before it; undefined when the text is JSON.
 */
export function findJsonFault(text: string, limits: Limits): JsonFault | 'unreadable' | undefined {
  const scanner = new Scanner(text, limits)
  const fault = scanner.document()
  if (fault === undefined || fault === 'unreadable') return fault
  return { error: fault, position: codePoints(text.slice(0, scanner.at)) }
}

const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y
const word = /true|false|null/y
const spaces = /[ \t\n\r]*/y
// oxlint-disable-next-line no-control-regex -- they are what may not stand in a string
const plainText = /[^"\\\0-\x1f]*/y
const fourHexDigits = /[0-9a-fA-F]{4}/y

/** Walks over a text. Each method passes one part of it and answers the fault found, with `at` on its place. */
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
    const fault = this.#value(0)
    if (fault !== undefined) return fault
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
    // This is also what becomes of NaN and Infinity, which Python would let through.
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
      const nameFault = this.#string()
      if (nameFault !== undefined) return nameFault
      this.#pass(spaces)
      if (!this.#take(':')) return "Expecting ':' delimiter"
      const fault = this.#next(depth)
      if (fault !== undefined) return fault
      if (this.#take('}')) return undefined
      if (!this.#take(',')) return "Expecting ',' delimiter"
      this.#pass(spaces)
    }
  }

  #items(depth: number): string | undefined {
    this.#pass(spaces)
    if (this.#take(']')) return undefined
    for (;;) {
      const fault = this.#next(depth)
      if (fault !== undefined) return fault
      if (this.#take(']')) return undefined
      if (!this.#take(',')) return "Expecting ',' delimiter"
    }
  }

  /** A value and the space around it. */
  #next(depth: number): string | undefined {
    this.#pass(spaces)
    const fault = this.#value(depth)
    if (fault === undefined) this.#pass(spaces)
    return fault
  }

  #string(): string | undefined {
    const start = this.at++
    for (;;) {
      this.#pass(plainText)
      if (this.#take('"')) return undefined
      if (this.at < this.#text.length && this.#text[this.at] !== '\\') return 'Invalid control character at'
      // Either the text ends here, or it ends after the backslash.
      if (this.at + 1 >= this.#text.length) {
        this.at = start
        return 'Unterminated string starting at'
      }
      const fault = this.#escape()
      if (fault !== undefined) return fault
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
    // The digits cannot be the end of the text, for the string must be closed.
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
