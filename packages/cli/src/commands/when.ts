import { InvalidArgumentError } from '@commander-js/extra-typings'

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A time with a time zone, unchanged, or a duration from now, such as `30m`, `12h` or `90d`. */
export function parseWhen(now: () => number) {
  return timeReader(now, { sign: 1, example: '2099-01-01T00:00:00Z', relative: 'a duration from now' })
}

/** A time with a time zone, unchanged, or a duration ago, such as `30m`, `12h` or `90d`. */
export function parsePastTime(now: () => number) {
  return timeReader(now, { sign: -1, example: '2026-11-01T00:00:00Z', relative: 'a duration before now' })
}

interface TimeWords {
  readonly sign: 1 | -1
  readonly example: string
  readonly relative: string
}

function timeReader(now: () => number, { sign, example, relative }: TimeWords) {
  return (text: string): string => {
    const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
    if (count && unit) {
      return new Date(now() + sign * Number(count) * unitsMs[unit as keyof typeof unitsMs]).toISOString()
    }
    // Without a zone it would mean different times on different machines.
    if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/i.test(text) && !Number.isNaN(Date.parse(text))) return text
    throw new InvalidArgumentError(
      `It must be a time with a time zone, such as ${example}, or ${relative}, such as 30m, 12h or 90d.`,
    )
  }
}
