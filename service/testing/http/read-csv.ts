/** The records of a CSV text (RFC 4180), with the names in its first line as keys. */
export function readCsv(text: string): Record<string, string>[] {
  const [names = [], ...records] = linesOf(text)
  return records.map((fields) => Object.fromEntries(names.map((name, at) => [name, fields[at] ?? ''])))
}

function linesOf(text: string): string[][] {
  const lines: string[][] = []
  let line: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    line.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    lines.push(line)
    line = []
  }
  return lines
}
