import type { Spending } from '@purser/client'
import { scaleBand, scaleLinear } from 'd3-scale'
import { useState } from 'react'

import { amountInWords } from '../text/amounts.ts'
import { counted } from '../text/counts.ts'
import { dayOfYear, timeOfDay } from '../text/times.ts'
import { axisRoom, tickText } from './axis.ts'
import './chart.css'
import { seriesOf, stackOf, type Series } from './money-series.ts'
import { useWidth } from './width.ts'

const height = 210
const frame = { top: 8, right: 4, bottom: 22 }

/** What was spent in each hour or day: one bar each, stacked if it is split, with the previous period as lines. */
export function MoneyChart({ spending }: { readonly spending: Spending }) {
  const series = seriesOf(spending)
  const names = periodNames[spending.period]
  return (
    <figure className="chart">
      <figcaption className="chart-legend">
        {series.map(({ name, look }) => (
          <span key={look}>
            <span className={`chart-swatch ${look}`} /> <span className="chart-name one-line">{name}</span>
          </span>
        ))}
        <span>
          <span className="chart-swatch previous" /> {names.previous}
        </span>
      </figcaption>
      <Bars spending={spending} series={series} />
      {/* A table is never narrower than its text, so a wrapper hides it. */}
      <div className="only-read-aloud">
        <SpendingTable spending={spending} series={series} />
      </div>
    </figure>
  )
}

/** How the periods are named. */
export const periodNames = {
  '24h': { last: 'the last 24 hours', previous: 'The 24 hours before', bucket: 'Hour' },
  '7d': { last: 'the last 7 days', previous: 'The 7 days before', bucket: 'Day' },
  '30d': { last: 'the last 30 days', previous: 'The 30 days before', bucket: 'Day' },
} as const

interface Drawn {
  readonly spending: Spending
  readonly series: readonly Series[]
}

function Bars({ spending, series }: Drawn) {
  const { buckets, previous } = spending
  const [box, width] = useWidth<HTMLDivElement>()
  const [pointedAt, setPointedAt] = useState<number>()
  const stacks = buckets.map((_, index) => stackOf(series.map(({ amounts }) => Number(amounts[index]))))
  const before = previous.buckets.map(Number)
  const tops = [...stacks.map(({ top }) => top), ...before]
  const bottoms = [...stacks.map(({ bottom }) => bottom), ...before, 0]
  const y = scaleLinear(
    [Math.min(...bottoms), Math.max(...tops) || 1],
    [height - frame.bottom, frame.top],
  ).nice(4)
  const ticks = y.ticks(4)
  const margin = { ...frame, left: axisRoom(ticks.map(tickText)) }
  const x = scaleBand(
    buckets.map((_, index) => index),
    [margin.left, Math.max(width, 80) - margin.right],
  ).padding(0.22)
  const last = buckets.length - 1
  const every = labelStep(buckets.length, width)
  return (
    <div ref={box} onPointerLeave={() => setPointedAt(undefined)}>
      <p className="chart-reading" aria-hidden="true">
        {readingOf(spending, pointedAt ?? last)}
      </p>
      <svg className="chart-drawing" width={width} height={height} aria-hidden="true">
        {ticks.map((tick) => (
          <g key={tick} transform={`translate(0, ${y(tick)})`}>
            <line className="chart-grid" x1={margin.left} x2={width - margin.right} />
            <text className="chart-tick" x={margin.left - 8} dy="0.32em" textAnchor="end">
              {tickText(tick)}
            </text>
          </g>
        ))}
        {buckets.map((bucket, index) => {
          const left = x(index) ?? 0
          const previousY = y(before[index] ?? 0)
          return (
            <g key={bucket.starts_at} onPointerEnter={() => setPointedAt(index)}>
              <rect
                className={index === pointedAt ? 'chart-column pointed' : 'chart-column'}
                x={left - x.step() * 0.11}
                width={x.step()}
                y={margin.top}
                height={height - margin.top - margin.bottom}
              />
              {stacks[index]?.pieces.map(({ from, to }, which) => (
                <rect
                  key={series[which]!.look}
                  className={`chart-part ${series[which]!.look}`}
                  x={left}
                  width={x.bandwidth()}
                  y={y(to)}
                  height={y(from) - y(to)}
                />
              ))}
              <line
                className="chart-previous"
                x1={left - x.step() * 0.08}
                x2={left + x.bandwidth() + x.step() * 0.08}
                y1={previousY}
                y2={previousY}
              />
              {(last - index) % every === 0 && (
                <text
                  className="chart-tick"
                  x={index === last ? left + x.bandwidth() : left + x.bandwidth() / 2}
                  y={height - 6}
                  textAnchor={index === last ? 'end' : 'middle'}
                >
                  {bucketName(spending, index)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** Every how many bars one has a label. */
function labelStep(count: number, width: number): number {
  const widest = width < 480 ? 4 : 8
  return count <= 7 ? 1 : Math.ceil(count / widest)
}

/** The day of a bucket, or the time at which it starts. */
function bucketName({ period, buckets }: Spending, index: number): string {
  const startsAtMs = Date.parse(buckets[index]!.starts_at)
  return period === '24h' ? timeOfDay(startsAtMs) : dayOfYear(startsAtMs)
}

/** A description of one bucket; the last one is incomplete. */
function readingOf(spending: Spending, index: number): string {
  const { period, buckets, previous } = spending
  const bucket = buckets[index]
  if (!bucket) return ''
  const end = index === buckets.length - 1 ? 'now' : timeOfDay(Date.parse(bucket.ends_at))
  const when = period === '24h' ? `${bucketName(spending, index)} to ${end}` : bucketName(spending, index)
  const parts = [`${amountInWords(bucket.spent)} USDC in ${counted(bucket.paid_count, 'payment')}`]
  if (bucket.refunded_count > 0) parts.push(`${amountInWords(bucket.refunded_total)} refunded`)
  if (bucket.denied_count > 0) parts.push(counted(bucket.denied_count, 'denial'))
  parts.push(`${amountInWords(previous.buckets[index] ?? '0')} the period before`)
  return `${when}: ${parts.join(', ')}`
}

function SpendingTable({ spending, series }: Drawn) {
  const { period, buckets, previous, split } = spending
  const { bucket: bucketWord, previous: previousName } = periodNames[period]
  const parts = split ? series : []
  return (
    <table>
      <caption>{`Spending in ${periodNames[period].last}`}</caption>
      <thead>
        <tr>
          <th scope="col">{period === '24h' ? 'Hour from' : bucketWord}</th>
          <th scope="col">Spent</th>
          {parts.map(({ name, look }) => (
            <th scope="col" key={look}>
              {name}
            </th>
          ))}
          <th scope="col">{previousName}</th>
          <th scope="col">Payments</th>
          <th scope="col">Refunded</th>
          <th scope="col">Denials</th>
        </tr>
      </thead>
      <tbody>
        {buckets.map((bucket, index) => (
          <tr key={bucket.starts_at}>
            <th scope="row">{bucketName(spending, index)}</th>
            <td>{bucket.spent}</td>
            {parts.map(({ amounts, look }) => (
              <td key={look}>{amounts[index]}</td>
            ))}
            <td>{previous.buckets[index]}</td>
            <td>{bucket.paid_count}</td>
            <td>{bucket.refunded_total}</td>
            <td>{bucket.denied_count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
