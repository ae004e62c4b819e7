import assert from 'node:assert/strict'
import { test } from 'node:test'

import { writeExposition } from './exposition.ts'
import { addUp, countedBy, type Family } from './families.ts'
import { Histogram } from './histogram.ts'

test('Metrics have the format of Prometheus: cumulative buckets, escaped texts', () => {
  const durations = new Histogram([0.1, 1])
  for (const seconds of [0.05, 0.1, 0.5, 7]) durations.observe(seconds)
  const text = writeExposition([
    {
      name: 'duration_seconds',
      help: 'Two\nlines and a \\.',
      type: 'histogram',
      aggregate: 'sum',
      samples: [{ labels: { route: '/a"b\\c' }, value: durations.read() }],
    },
    { name: 'empty', help: 'Nothing yet.', type: 'gauge', aggregate: 'max', samples: [] },
  ])
  assert.deepEqual(text.split('\n'), [
    '# HELP duration_seconds Two\\nlines and a \\\\.',
    '# TYPE duration_seconds histogram',
    'duration_seconds_bucket{route="/a\\"b\\\\c",le="0.1"} 2',
    'duration_seconds_bucket{route="/a\\"b\\\\c",le="1"} 3',
    'duration_seconds_bucket{route="/a\\"b\\\\c",le="+Inf"} 4',
    'duration_seconds_sum{route="/a\\"b\\\\c"} 7.65',
    'duration_seconds_count{route="/a\\"b\\\\c"} 4',
    '# HELP empty Nothing yet.',
    '# TYPE empty gauge',
    '',
  ])
})

test('NaN counts as above every bound', () => {
  const sizes = new Histogram([1])
  sizes.observe(Number.NaN)
  assert.deepEqual(sizes.read().counts, [0, 1])
})

test('Processes are aggregated: counters and histograms are summed, gauges follow their own rule', () => {
  const one = familiesOf({ count: 3, memory: 10, lag: 2, start: 100, seconds: [0.05] })
  const other = familiesOf({ count: 4, memory: 20, lag: 5, start: 90, seconds: [0.05, 7] })
  const sums = Object.fromEntries(
    addUp([one, other]).map(({ name, samples }) => [name, samples.map(({ value }) => value)]),
  )
  assert.deepEqual(sums, {
    count: [7],
    memory: [30],
    lag: [5],
    start: [90],
    seconds: [{ bounds: [0.1, 1], counts: [2, 0, 1], sum: 7.1 }],
  })
  assert.deepEqual(
    countedBy(one).map(({ name }) => name),
    ['count', 'seconds'],
  )
})

test('Series of a single process stay unchanged', () => {
  const [sum] = addUp([[series('/a')], [series('/b')], [series('/a')]])
  assert.deepEqual(sum?.samples, [
    { labels: { route: '/a' }, value: 2 },
    { labels: { route: '/b' }, value: 1 },
  ])
})

function familiesOf(values: {
  count: number
  memory: number
  lag: number
  start: number
  seconds: readonly number[]
}): Family[] {
  const histogram = new Histogram([0.1, 1])
  for (const seconds of values.seconds) histogram.observe(seconds)
  const gauge = { help: '', type: 'gauge' } as const
  return [
    {
      name: 'count',
      help: '',
      type: 'counter',
      aggregate: 'sum',
      samples: [{ labels: {}, value: values.count }],
    },
    { name: 'memory', ...gauge, aggregate: 'sum', samples: [{ labels: {}, value: values.memory }] },
    { name: 'lag', ...gauge, aggregate: 'max', samples: [{ labels: {}, value: values.lag }] },
    { name: 'start', ...gauge, aggregate: 'min', samples: [{ labels: {}, value: values.start }] },
    {
      name: 'seconds',
      help: '',
      type: 'histogram',
      aggregate: 'sum',
      samples: [{ labels: {}, value: histogram.read() }],
    },
  ]
}

function series(route: string): Family {
  return {
    name: 'count',
    help: '',
    type: 'counter',
    aggregate: 'sum',
    samples: [{ labels: { route }, value: 1 }],
  }
}
