import { KeyMap } from './key-map.ts'
import { readText, type Read } from './operation.ts'

/** Reads, each once. One that locks takes the place of the same one that does not. */
export class ReadSet {
  readonly #places = new KeyMap<number>()
  readonly #ranges = new Map<string, number>()
  readonly #reads: (Read | undefined)[] = []

  /** Whether it adds anything. */
  add(read: Read): boolean {
    const place = this.#placeOf(read)
    if (place === undefined) {
      const last = this.#reads.push(read) - 1
      if (read.kind === 'row') this.#places.set(read.table, read.key, last)
      else this.#ranges.set(readText(read), last)
      return true
    }
    const known = this.#reads[place]
    if (known && (known.isLocked || !read.isLocked)) return false
    this.#reads[place] = read
    return true
  }

  delete(read: Read): void {
    const place = this.#placeOf(read)
    if (place !== undefined) this.#reads[place] = undefined
  }

  list(): Read[] {
    return this.#reads.filter((read) => read !== undefined)
  }

  #placeOf(read: Read): number | undefined {
    return read.kind === 'row' ? this.#places.get(read.table, read.key) : this.#ranges.get(readText(read))
  }
}
