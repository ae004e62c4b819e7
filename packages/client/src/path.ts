import { PurserError } from './errors.ts'

/** A path with ids; an id that would change the path is refused before anything is sent. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  for (const id of ids) {
    if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) {
      throw new PurserError(`${JSON.stringify(id)} is not an id; pass the id of a record`)
    }
  }
  return String.raw(parts, ...ids.map(encodeURIComponent))
}
