import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A question that a child process answers: a name, one input, a result. */
export type Acts = Record<string, (input: never) => unknown>

/** A child process that answers one question after the other. */
export interface Child<A extends Acts> {
  readonly ask: <Name extends keyof A>(
    name: Name,
    ...input: Parameters<A[Name]>
  ) => Promise<Awaited<ReturnType<A[Name]>>>
  readonly stop: () => Promise<void>
}

interface Question {
  readonly name: string
  readonly input: unknown
}

type Reply = { readonly outcome: unknown } | { readonly failure: string }

/** Starts a child process from a file in this folder. */
export function startChild<A extends Acts>(file: string, nodeFlags: readonly string[] = []): Child<A> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, { execArgv: [...nodeFlags], serialization: 'advanced' })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    ask: async (name, ...input) => (await ask(child, file, { name: String(name), input: input[0] })) as never,
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

function ask(child: ChildProcess, file: string, question: Question): Promise<unknown> {
  return new Promise((resolve, reject) => {
    function onExit(code: number | null, signal: string | null): void {
      reject(new Error(`${file} ended (${signal ?? code}) while asked to ${question.name}`))
    }
    child.once('exit', onExit)
    child.once('message', (reply: Reply) => {
      child.off('exit', onExit)
      if ('failure' in reply) reject(new Error(`${file} failed to ${question.name}: ${reply.failure}`))
      else resolve(reply.outcome)
    })
    child.send(question)
  })
}

/** In a child process: answers the parent's questions until it disconnects, then cleans up. */
export function answerParent(acts: Acts, tidyUp: () => Promise<void> = () => Promise.resolve()): void {
  process.on('message', ({ name, input }: Question) => {
    void answer(acts, name, input).then((reply) => process.send?.(reply))
  })
  process.on('disconnect', () => void tidyUp().finally(() => process.exit()))
  // The parent decides when a run ends; an interrupt in the terminal reaches the whole group.
  process.on('SIGINT', () => undefined)
}

async function answer(acts: Acts, name: string, input: unknown): Promise<Reply> {
  try {
    const act = acts[name] as ((input: unknown) => unknown) | undefined
    if (!act) throw new Error('no such act')
    return { outcome: await act(input) }
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
