import type { Family, Sample } from './families.ts'

/** The content type of the text. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Metrics in the text format of Prometheus, version 0.0.4.
 *
 * @example
 * writeExposition([{ name: 'purser_open_holds', help: 'Open proofs.', type: 'gauge', aggregate: 'max', samples }])
 */
export function writeExposition(families: readonly Family[]): string {
  return families.map(writeFamily).join('')
}

function writeFamily({ name, help, type, samples }: Family): string {
  const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`]
  for (const sample of samples) lines.push(...writeSample(name, sample))
  return `${lines.join('\n')}\n`
}

function writeSample(name: string, { labels, value }: Sample): string[] {
  if (typeof value === 'number') return [`${name}${writeLabels(labels)} ${writeNumber(value)}`]
  const { bounds, counts, sum } = value
  let count = 0
  const buckets = counts.map((inBucket, bucket) => {
    count += inBucket
    const le = writeNumber(bounds[bucket] ?? Infinity)
    return `${name}_bucket${writeLabels({ ...labels, le })} ${count}`
  })
  const own = writeLabels(labels)
  return [...buckets, `${name}_sum${own} ${writeNumber(sum)}`, `${name}_count${own} ${count}`]
}

function writeLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function writeNumber(value: number): string {
  if (value === Infinity) return '+Inf'
  if (value === -Infinity) return '-Inf'
  return String(value)
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
