import { connect } from 'node:net'

import type { RawRequest } from './spellings.ts'

export interface RawAnswer {
  readonly status: number
  readonly text: string
}

/** Writes the requests to sockets unchanged, and returns the responses in order. */
export async function sendAll(url: string, requests: readonly RawRequest[]): Promise<readonly RawAnswer[]> {
  const answers: RawAnswer[] = []
  // If a server closes a connection, as after an invalid request, the rest is sent over another one.
  while (answers.length < requests.length) {
    const before = answers.length
    answers.push(...(await pipeline(url, requests.slice(before, before + 500))))
    if (answers.length === before) throw new Error(`no answer to ${JSON.stringify(requests[before])}`)
  }
  return answers
}

/** Sends all requests over one connection, and returns the responses until the server closes it. */
function pipeline(url: string, requests: readonly RawRequest[]): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    const heads = requests.map(
      ({ target, host }, index) =>
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${index === requests.length - 1 ? 'Connection: close\r\n' : ''}\r\n`,
    )
    socket.setEncoding('latin1').setTimeout(10_000, () => socket.destroy(new Error('no answer in time')))
    socket.on('data', (text: string) => (received += text))
    socket.on('close', () => resolve(readAnswers(received))).on('error', reject)
    socket.write(heads.join(''))
  })
}

function readAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let from = 0; from < text.length;) {
    const bodyAt = text.indexOf('\r\n\r\n', from) + 4
    const head = text.slice(from, bodyAt)
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
    if (bodyAt < 4 || !status) throw new Error(`not an answer: ${text.slice(from, from + 200)}`)
    if (/^transfer-encoding: chunked/im.test(head)) {
      const end = text.indexOf('0\r\n\r\n', bodyAt)
      answers.push({ status, text: text.slice(bodyAt, end).replace(/^[\da-f]+\r\n|\r\n$/g, '') })
      from = end + 5
    } else {
      from = bodyAt + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      answers.push({ status, text: text.slice(bodyAt, from) })
    }
  }
  return answers
}
