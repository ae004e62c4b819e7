import assert from 'node:assert/strict'

/**
 * The values of the series in a scrape, by name with labels, such as `purser_workers` or `a_total{b="c"}`.
 */
export type ScrapedSeries = ReadonlyMap<string, number>

/** Reads metrics from a service's metrics address. */
export async function readMetrics(url: string | undefined, token?: string): Promise<ScrapedSeries> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const answer = await fetch(url ?? '', { signal: AbortSignal.timeout(20_000), ...(headers && { headers }) })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  return parseMetrics(text)
}

/** The series of the text format; fails for a line that is neither a series nor a comment. */
function parseMetrics(text: string): ScrapedSeries {
  const series = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name = '', value = ''] = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    assert.notEqual(name, '', `${line} is no series`)
    assert.ok(!series.has(name), `${name} is there twice`)
    series.set(name, Number(value.replace('Inf', 'Infinity')))
  }
  return series
}

/** The names of the metrics that have a series, without the suffixes of histograms. */
export function namesOf(series: ScrapedSeries): Set<string> {
  return new Set([...series.keys()].map((key) => metricOf(key.replace(/\{.*$/, ''))))
}

/** The metric of a histogram's series. */
export function metricOf(name: string): string {
  return name.replace(/(_seconds|_operations)_(bucket|sum|count)$/, '$1')
}
