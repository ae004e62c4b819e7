import { after } from 'node:test'

/** For what all tests of a suite share, in the suite: cleans up after its last test, the latest first. */
export function contextOfSuite(): { readonly after: (stop: () => Promise<void>) => void } {
  const stops: (() => Promise<void>)[] = []
  after(async () => {
    for (const stop of stops.toReversed()) await stop()
  })
  return { after: (stop) => void stops.push(stop) }
}
