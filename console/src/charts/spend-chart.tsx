import type { MandateSpend } from '@purser/client'
import { scaleLinear, scaleTime } from 'd3-scale'
import { area, curveStepAfter, line } from 'd3-shape'

import { amountInWords } from '../text/amounts.ts'
import { dayOfYear } from '../text/times.ts'
import { LegendMark } from '../ui/legend-mark.tsx'
import { axisRoom, tickText } from './axis.ts'
import './chart.css'
import { spendPoints, type SpendPoint } from './spend-points.ts'
import { useWidth } from './width.ts'

const height = 220
const frame = { top: 14, right: 24, bottom: 24 }

/** The cumulative spend of a mandate, with its budget as a line. */
export function SpendChart({
  spend,
  total,
  untilMs,
}: {
  readonly spend: MandateSpend
  readonly total: string
  /** The right end of the chart: now. */
  readonly untilMs: number
}) {
  const [box, width] = useWidth<HTMLDivElement>()
  const points = spendPoints(spend, untilMs)
  const budget = inWhole(total)
  const top = Math.max(budget, ...points.map(({ spent }) => inWhole(spent)))
  const y = scaleLinear([0, top * 1.06 || 1], [height - frame.bottom, frame.top])
  const margin = { ...frame, left: axisRoom(y.ticks(4).map(tickText)) }
  const x = scaleTime([points[0]?.atMs ?? 0, untilMs], [margin.left, Math.max(width, 120) - margin.right])
  const stepLine = line<SpendPoint>(
    (point) => x(point.atMs),
    (point) => y(inWhole(point.spent)),
  ).curve(curveStepAfter)
  const below = area<SpendPoint>(
    (point) => x(point.atMs),
    y(0),
    (point) => y(inWhole(point.spent)),
  ).curve(curveStepAfter)
  return (
    <figure className="chart">
      <figcaption className="chart-legend">
        <span>
          <LegendMark of="paid" /> Spent, added up
        </span>
        <span>
          <LegendMark of="limit" /> Total budget
        </span>
      </figcaption>
      <div ref={box}>
        <svg
          className="chart-drawing"
          width={width}
          height={height}
          role="img"
          aria-label={`${amountInWords(points.at(-1)?.spent ?? '0')} of ${amountInWords(total)} USDC spent, from ${dayOfYear(points[0]?.atMs ?? untilMs)} to ${dayOfYear(untilMs)}`}
        >
          {y.ticks(4).map((tick) => (
            <g key={tick} transform={`translate(0, ${y(tick)})`}>
              <line className="chart-grid" x1={margin.left} x2={width - margin.right} />
              <text className="chart-tick" x={margin.left - 8} dy="0.32em" textAnchor="end">
                {tickText(tick)}
              </text>
            </g>
          ))}
          {x.ticks(width < 480 ? 3 : 6).map((tick) => (
            <text key={tick.getTime()} className="chart-tick" x={x(tick)} y={height - 6} textAnchor="middle">
              {dayOfYear(tick.getTime())}
            </text>
          ))}
          <path className="chart-area" d={below([...points]) ?? ''} />
          <path className="chart-line" d={stepLine([...points]) ?? ''} />
          <line
            className="chart-limit"
            x1={margin.left}
            x2={width - margin.right}
            y1={y(budget)}
            y2={y(budget)}
          />
        </svg>
      </div>
    </figure>
  )
}

/** An amount as a float, only for drawing: never shown, never added. */
function inWhole(amount: string): number {
  return Number(amount)
}
