import type { HistogramReading } from './histogram.ts'

/**
 * How to aggregate the values of several processes: counts and times are summed; for states, the max or min.
 */
export type Aggregate = 'sum' | 'max' | 'min'

/**
 * One series of a metric. Labels have low cardinality: never an agent, a mandate, an account or a raw path.
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | HistogramReading
}

/** A metric with all its series, as one process has it. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregate: Aggregate
  readonly samples: readonly Sample[]
}

/**
 * Aggregates the metrics of several processes: counters and histograms are summed, gauges by their own rule.
 *
 * @example
 * addUp([familiesOfOneWorker, familiesOfAnother])
 */
export function addUp(processes: readonly (readonly Family[])[]): Family[] {
  const families = new Map<string, { family: Family; samples: Map<string, Sample> }>()
  for (const family of processes.flat()) {
    let known = families.get(family.name)
    if (!known) families.set(family.name, (known = { family, samples: new Map() }))
    for (const sample of family.samples) {
      const key = JSON.stringify(Object.entries(sample.labels))
      const other = known.samples.get(key)
      known.samples.set(key, other ? combine(other, sample, family.aggregate) : sample)
    }
  }
  return [...families.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }))
}

/** Only counters and histograms: kept after a process has exited, so that sums never fall. */
export function countedBy(families: readonly Family[]): Family[] {
  return families.filter(({ type, aggregate }) => type !== 'gauge' && aggregate === 'sum')
}

/** The families that still hold for a process that does not answer: its counters and its start time. */
export function heldBy(families: readonly Family[]): Family[] {
  return [...countedBy(families), ...families.filter(({ name }) => name === 'process_start_time_seconds')]
}

function combine(one: Sample, other: Sample, aggregate: Aggregate): Sample {
  const { value } = one
  if (typeof value === 'number' && typeof other.value === 'number') {
    return { ...one, value: combiners[aggregate](value, other.value) }
  }
  if (typeof value === 'number' || typeof other.value === 'number') return one
  const { counts, sum } = other.value
  return {
    ...one,
    value: {
      ...value,
      counts: value.counts.map((count, bucket) => count + (counts[bucket] ?? 0)),
      sum: value.sum + sum,
    },
  }
}

const combiners: Readonly<Record<Aggregate, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
}
