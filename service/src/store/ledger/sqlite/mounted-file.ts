import { readFileSync } from 'node:fs'

/** Whether a file is mounted by itself, as `docker run -v file:file` does. Only Linux lists what is mounted here. */
export function isMountedFile(path: string): boolean {
  if (process.platform !== 'linux') return false
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => unescape(line.split(' ')[4] ?? '') === path)
}

/** Linux writes a space, a tab, a line feed and a backslash as three octal digits. */
function unescape(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
