import assert from 'node:assert/strict'

/** The series of a scrape: what they are worth by their name with labels, as `purser_workers` or `a_total{b="c"}`. */
export type ScrapedSeries = ReadonlyMap<string, number>

/** Reads metrics from where a service answers for them. */
export async function readMetrics(url: string | undefined, token?: string): Promise<ScrapedSeries> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const answer = await fetch(url ?? '', { signal: AbortSignal.timeout(20_000), ...(headers && { headers }) })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  return parseMetrics(text)
}

/** The series of the text format; fails on a line that is neither a series nor a comment. */
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

/** The names of the metrics that have a series, without the endings that histograms have. */
export function namesOf(series: ScrapedSeries): Set<string> {
  return new Set([...series.keys()].map((key) => metricOf(key.replace(/\{.*$/, ''))))
}

/** The metric that a series of a histogram belongs to. */
export function metricOf(name: string): string {
  return name.replace(/(_seconds|_operations)_(bucket|sum|count)$/, '$1')
}
