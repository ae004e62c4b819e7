import { readdir } from 'node:fs/promises'

import type { Endpoint } from '@purser/wire/endpoint'

/** Every endpoint of the interface, collected from the wire package. */
export async function findEndpoints(): Promise<Endpoint[]> {
  const folder = new URL('.', import.meta.resolve('@purser/wire/endpoint'))
  const files = (await readdir(folder, { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !name.includes('.test.'),
  )
  const modules = await Promise.all(
    files.map(async (name): Promise<object> => import(new URL(name, folder).href)),
  )
  return modules.flatMap((module) => Object.values(module).filter(isEndpoint))
}

function isEndpoint(value: unknown): value is Endpoint {
  return (
    typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'roles' in value
  )
}
