import { readFileSync } from 'node:fs'

/**
 * Whether a file is mounted by itself, as `docker run -v file:file` does. Only Linux lists what is mounted, and not
 * everywhere.
 */
export function isMountedFile(path: string): boolean {
  return readMounts()
    .split('\n')
    .some((line) => unescape(line.split(' ')[4] ?? '') === path)
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

/** Linux writes a space, a tab, a line feed and a backslash as three octal digits. */
function unescape(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
