import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { createDomainProver, type ProveDomain } from '../../src/prove-domain.ts'

/** The domain of the test certificate. */
export const provenDomain = 'shop.example'

/** The zone of a test's DNS server; it may change. */
export interface Zone {
  txt?: Readonly<Record<string, readonly string[]>>
  a?: Readonly<Record<string, string>>
}

type Context = Pick<TestContext, 'after'>

/** A prover that queries the test's servers on the loopback. */
export async function proverOf(
  context: Context,
  zone: Zone,
  answer: RequestListener = () => undefined,
): Promise<ProveDomain> {
  const [resolver, connection] = await Promise.all([dnsServer(context, zone), tlsServer(context, answer)])
  return createDomainProver({ resolver, connection, mayConnectTo: (address) => address === '127.0.0.1' })
}

/** A DNS server on the loopback that knows only one zone, and a resolver that queries it. */
export async function dnsServer(context: Context, zone: Zone): Promise<Resolver> {
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    const { txt = {}, a = {} } = zone
    const labels: string[] = []
    let at = 12
    while (question[at]) {
      labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)))
      at += 1 + (question[at] ?? 0)
    }
    const name = labels.join('.').toLowerCase()
    const type = question.readUInt16BE(at + 1)
    const values =
      type === 16
        ? (txt[name] ?? []).map((text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]))
        : type === 1 && a[name] !== undefined
          ? [Buffer.from(a[name].split('.').map(Number))]
          : []
    const head = Buffer.from(question.subarray(0, 12))
    head.writeUInt16BE(values.length > 0 ? 0x8180 : 0x8183, 2)
    for (const [place, count] of [1, values.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + place * 2)
    const answers = values.map((value) => {
      const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, value.length])
      return Buffer.concat([record, value])
    })
    socket.send(Buffer.concat([head, question.subarray(12, at + 5), ...answers]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  context.after(() => void socket.close())
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return resolver
}

/** An https server on the loopback with a certificate of the domain. */
export async function tlsServer(context: Context, answer: RequestListener) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-tls-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const flags = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  const name = ['-subj', `/CN=${provenDomain}`, '-addext', `subjectAltName=DNS:${provenDomain}`]
  execFileSync('openssl', [...flags, ...name, '-keyout', 'key.pem', '-out', 'cert.pem'], {
    cwd: folder,
    stdio: 'ignore',
  })
  const [key, cert] = ['key.pem', 'cert.pem'].map((file) => readFileSync(join(folder, file), 'utf8'))
  const server = createServer({ key, cert }, answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, ...(cert === undefined ? {} : { ca: cert }) }
}
