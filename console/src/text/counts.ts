/** A count with its noun: `1 agent`, `3 agents`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** A number of bytes with about three digits: `12.4 MiB`. */
export function bytesInWords(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10))
  const size = bytes / 1024 ** power
  return `${size.toFixed(power === 0 || size >= 100 ? 0 : 1)} ${units[power]}`
}

/** A duration in its two largest units: `3 d 4 h`. */
export function durationInWords(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ] as const
  const first = parts.findIndex(([count, unit]) => count > 0 || unit === 's')
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

const spans = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

/** A length of time in its largest whole unit: `24 hours`, `90 minutes`, `7 days`. */
export function secondsInWords(seconds: number): string {
  if (seconds === 86_400) return '24 hours'
  const [length, unit] = spans.find(([size]) => seconds % size === 0) ?? spans[3]
  return counted(seconds / length, unit)
}
