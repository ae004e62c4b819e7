/** Says on standard error why the service cannot start. */
export function tellStartFailure(message: string, calledAs: string): void {
  console.error(`Purser cannot start: ${asCalled(message, calledAs)}.`)
}

/** What a store advises, spelled as commands are called here: it does not know whether `purser` is installed. */
export function asCalled(advice: string, calledAs: string): string {
  return advice.replaceAll(/purser (?=migrate |restore\b)/g, `${calledAs} `)
}
