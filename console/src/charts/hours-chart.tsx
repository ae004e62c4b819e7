import type { Activity } from '@purser/client'
import { scaleBand, scaleLinear } from 'd3-scale'
import { useState } from 'react'

import { amountInWords } from '../text/amounts.ts'
import { counted } from '../text/counts.ts'
import { timeOfDay } from '../text/times.ts'
import { LegendMark } from '../ui/legend-mark.tsx'
import { axisRoom, tickText } from './axis.ts'
import './chart.css'
import { useWidth } from './width.ts'

const height = 190
const frame = { top: 8, right: 4, bottom: 22 }
const hourMs = 3_600_000

/** Payments and denials by hour, or a message if there are none. */
export function HoursChart({ hours }: { readonly hours: readonly Activity[] }) {
  const isEmpty = hours.every(({ paid_count, denied_count }) => paid_count + denied_count === 0)
  if (isEmpty) return <p className="quiet">No payments or denials in the last 24 hours.</p>
  return <Chart hours={hours} />
}

/** Stacked bars; denials are hatched, so that they do not differ only by colour. */
function Chart({ hours }: { readonly hours: readonly Activity[] }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [pointedAt, setPointedAt] = useState<number>()
  const most = Math.max(4, ...hours.map(({ paid_count, denied_count }) => paid_count + denied_count))
  const y = scaleLinear([0, most], [height - frame.bottom, frame.top]).nice(4)
  // Counts are integers.
  const ticks = y.ticks(4).filter((tick) => Number.isInteger(tick))
  const margin = { ...frame, left: axisRoom(ticks.map(tickText)) }
  const x = scaleBand(
    hours.map((_, index) => index),
    [margin.left, Math.max(width, 80) - margin.right],
  ).padding(0.22)
  const every = width < 480 ? 6 : 3
  const last = hours.length - 1
  const shown = hours[pointedAt ?? last]
  return (
    <figure className="chart">
      <figcaption className="chart-legend">
        <span>
          <LegendMark of="paid" /> Payments
        </span>
        <span>
          <LegendMark of="denied" /> Denials
        </span>
        <span className="chart-reading" aria-hidden="true">
          {shown && readingOf(shown, shown === hours[last])}
        </span>
      </figcaption>
      <div ref={box} onPointerLeave={() => setPointedAt(undefined)}>
        <svg className="chart-drawing" width={width} height={height} aria-hidden="true">
          <HatchPattern />
          {ticks.map((tick) => (
            <g key={tick} transform={`translate(0, ${y(tick)})`}>
              <line className="chart-grid" x1={margin.left} x2={width - margin.right} />
              <text className="chart-tick" x={margin.left - 8} dy="0.32em" textAnchor="end">
                {tickText(tick)}
              </text>
            </g>
          ))}
          {hours.map((hour, index) => {
            const left = x(index) ?? 0
            const paidTop = y(hour.paid_count)
            return (
              <g key={hour.starts_at} onPointerEnter={() => setPointedAt(index)}>
                <rect
                  className={index === pointedAt ? 'chart-column pointed' : 'chart-column'}
                  x={left - x.step() * 0.11}
                  width={x.step()}
                  y={margin.top}
                  height={height - margin.top - margin.bottom}
                />
                <rect
                  className="chart-paid"
                  x={left}
                  width={x.bandwidth()}
                  y={paidTop}
                  height={y(0) - paidTop}
                  rx="1.5"
                />
                <DeniedBar
                  x={left}
                  width={x.bandwidth()}
                  y={y(hour.paid_count + hour.denied_count)}
                  height={paidTop - y(hour.paid_count + hour.denied_count)}
                />
                {(last - index) % every === 0 && (
                  <text
                    className="chart-tick"
                    x={index === last ? left + x.bandwidth() : left + x.bandwidth() / 2}
                    y={height - 6}
                    textAnchor={index === last ? 'end' : 'middle'}
                  >
                    {timeOfDay(Date.parse(hour.starts_at))}
                  </text>
                )}
              </g>
            )
          })}
        </svg>
      </div>
      {/* A table is never narrower than its text, so a wrapper hides it. */}
      <div className="only-read-aloud">
        <table>
          <caption>Payments and denials by hour</caption>
          <thead>
            <tr>
              <th scope="col">Hour from</th>
              <th scope="col">Payments</th>
              <th scope="col">Amount</th>
              <th scope="col">Denials</th>
            </tr>
          </thead>
          <tbody>
            {hours.map((hour) => (
              <tr key={hour.starts_at}>
                <th scope="row">{timeOfDay(Date.parse(hour.starts_at))}</th>
                <td>{hour.paid_count}</td>
                <td>{hour.paid_total}</td>
                <td>{hour.denied_count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

function DeniedBar(place: Readonly<Record<'x' | 'y' | 'width' | 'height', number>>) {
  return (
    <>
      <rect className="chart-denied" {...place} rx="1.5" />
      <rect fill="url(#hatch)" {...place} rx="1.5" />
    </>
  )
}

function HatchPattern() {
  return (
    <defs>
      <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line className="chart-hatch" x1="0" y1="0" x2="0" y2="5" />
      </pattern>
    </defs>
  )
}

/** A description of one hour; the last one is incomplete. */
function readingOf({ starts_at, paid_count, paid_total, denied_count }: Activity, isLast: boolean): string {
  const startsAtMs = Date.parse(starts_at)
  const until = isLast ? 'now' : timeOfDay(startsAtMs + hourMs)
  const happened = `${counted(paid_count, 'payment')}, ${amountInWords(paid_total)} USDC, ${counted(denied_count, 'denial')}`
  return `${timeOfDay(startsAtMs)} to ${until}: ${happened}`
}
