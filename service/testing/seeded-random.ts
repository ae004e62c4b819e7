export interface SeededRandom {
  /** A whole number from 0 to below the limit. */
  readonly below: (limit: number) => number
  readonly bytes: (size: number) => Uint8Array
  readonly pick: <Item>(items: readonly [Item, ...Item[]]) => Item
}

/** Choices that look random and are the same in every run (mulberry32). */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0

  function next32(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  const below = (limit: number) => next32() % limit
  return {
    below,
    bytes: (size) => {
      const bytes = new Uint8Array(size)
      for (let index = 0; index < size; index++) bytes[index] = next32()
      return bytes
    },
    pick: (items) => items[below(items.length)] ?? items[0],
  }
}
