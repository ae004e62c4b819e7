/** Shows a run's progress: one updated line on a terminal, otherwise a line per step. */
export class Progress {
  readonly #total: number
  readonly #isTerminal = process.stderr.isTTY
  #done = 0

  constructor(total: number) {
    this.#total = total
  }

  /** Shows that a step is done. */
  step(text: string): void {
    this.#done++
    const line = `${String(Math.floor((100 * this.#done) / this.#total)).padStart(3)} %  ${text}`
    if (this.#isTerminal) process.stderr.write(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`)
    else console.error(line)
  }

  finish(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K')
  }
}
