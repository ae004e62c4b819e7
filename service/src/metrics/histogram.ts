/** Upper bounds in seconds that OpenTelemetry recommends for the duration of HTTP requests. */
export const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Upper bounds in seconds for store operations, which are faster. */
export const storeSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Upper bounds of the operations in one batch. */
export const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128]

/** The state of a histogram. */
export interface HistogramReading {
  readonly bounds: readonly number[]
  /** How many values are in each bucket, not cumulative; the last is above every bound. */
  readonly counts: readonly number[]
  readonly sum: number
}

/**
 * Counts values by size.
 *
 * @example
 * const durations = new Histogram(requestSeconds)
 * durations.observe(0.012)
 */
export class Histogram {
  readonly #bounds: readonly number[]
  /** A count per bound, one for larger values, and the sum. */
  readonly #cells: Float64Array

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    const cells = this.#cells
    let bucket = 0
    // Stated so that NaN counts as above every bound.
    while (bucket < bounds.length && !(value <= (bounds[bucket] ?? 0))) bucket++
    cells[bucket] = (cells[bucket] ?? 0) + 1
    cells[bounds.length + 1] = (cells[bounds.length + 1] ?? 0) + value
  }

  read(): HistogramReading {
    const counts = [...this.#cells]
    const sum = counts.pop() ?? 0
    return { bounds: this.#bounds, counts, sum }
  }
}
