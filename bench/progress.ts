/** Tells how far a run is: one line that changes on a terminal, a line each elsewhere. */
export class Progress {
  readonly #total: number
  readonly #isTerminal = process.stderr.isTTY
  #done = 0

  constructor(total: number) {
    this.#total = total
  }

  /** Something is being prepared, which is no step of its own. */
  note(text: string): void {
    if (this.#isTerminal) this.#rewrite(text)
  }

  /** A step is done. */
  step(text: string): void {
    this.#done++
    const line = `${String(Math.floor((100 * this.#done) / this.#total)).padStart(3)} %  ${text}`
    if (this.#isTerminal) this.#rewrite(line)
    else console.error(line)
  }

  finish(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K')
  }

  #rewrite(text: string): void {
    const width = process.stderr.columns - 1
    process.stderr.write(`\r\x1b[K${text.slice(0, width)}`)
  }
}
