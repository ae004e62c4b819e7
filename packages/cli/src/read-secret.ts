import type { ReadStream } from 'node:tty'

import { CommandError } from './exit-codes.ts'

/** No secret is longer; longer input is something else. */
const maxLength = 4_096

/** Far more than a proof has. */
const maxInputLength = 65_536

const enter = new Set(['\r', '\n', '\u0004'])
const rubout = new Set(['\u007f', '\b'])
const interrupt = '\u0003'
const eraseLine = '\u0015'

interface Streams {
  readonly stdin: ReadStream
  readonly stderr: NodeJS.WritableStream
}

/**
 * The secret that a question names, typed without echo, or the first line of piped input. Throws a `CommandError` if there is
 * none.
 */
export async function readSecret({ stdin, stderr }: Streams, question: string): Promise<string> {
  if (!stdin.isTTY) return nonEmpty(await firstLineOf(stdin), question)
  // Turn echo off before the prompt appears.
  stdin.setRawMode(true)
  stderr.write(`${question}: `)
  try {
    return nonEmpty(await readTyped(stdin), question)
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

/** All of standard input, up to a limit, after a question at a terminal. */
export async function readInput({ stdin, stderr }: Streams, question: string): Promise<string> {
  if (stdin.isTTY) stderr.write(`${question}, then Ctrl-D:\n`)
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > maxInputLength) throw new CommandError('standard input is too long', 'usage')
  }
  return text
}

function readTyped(stdin: ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    stdin.setEncoding('utf8')
    function take(chunk: string): void {
      for (const key of chunk) {
        if (key === interrupt) return end(() => reject(new CommandError('interrupted', 'interrupted')))
        if (enter.has(key)) return end(() => resolve(typed))
        if (rubout.has(key)) typed = typed.slice(0, -1)
        else if (key === eraseLine) typed = ''
        else if (key >= ' ' && typed.length < maxLength) typed += key
      }
    }
    function end(settle: () => void): void {
      stdin.off('data', take)
      settle()
    }
    stdin.on('data', take)
    stdin.once('end', () => end(() => resolve(typed)))
  })
}

async function firstLineOf(stdin: ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.includes('\n') || text.length > maxLength) break
  }
  return text.split('\n', 1)[0] ?? ''
}

function nonEmpty(text: string, question: string): string {
  const secret = text.trim()
  if (secret === '') {
    throw new CommandError(`nothing was entered for "${question}"; type it, or pipe it in`, 'usage')
  }
  if (secret.length > maxLength) throw new CommandError(`the input is too long for "${question}"`, 'usage')
  return secret
}
