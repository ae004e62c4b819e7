import type { TestContext } from 'node:test'

/** A chapter of a story: the next one begins where it ended, so a chapter that fails ends the story. */
export type Chapter = (title: string, act: () => Promise<void>) => Promise<void>

/** Tells a story in chapters, each a subtest of its own. */
export function storyOf(context: TestContext): Chapter {
  return async (title, act) => {
    let failure: unknown
    await context.test(title, async () => {
      try {
        await act()
      } catch (error) {
        failure = error
        throw error
      }
    })
    if (failure !== undefined) throw new Error(`The story ends at: ${title}`, { cause: failure })
  }
}
