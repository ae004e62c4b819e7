import type { Activity } from '@purser/client'
import { scaleBand, scaleLinear } from 'd3-scale'
import { useState } from 'react'

import { groupDigits } from '../text/amounts.ts'
import { counted } from '../text/reasons.ts'
import './chart.css'
import { useWidth } from './width.ts'

const height = 190
const margin = { top: 8, right: 4, bottom: 22, left: 34 }
const hourText = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

/** Payments and denials of each hour, on top of one another; denials are hatched, so that colour is not alone. */
export function HoursChart({ hours }: { readonly hours: readonly Activity[] }) {
  const [box, width] = useWidth<HTMLDivElement>()
  const [pointedAt, setPointedAt] = useState<number>()
  const most = Math.max(4, ...hours.map(({ paid_count, denied_count }) => paid_count + denied_count))
  const x = scaleBand(
    hours.map((_, index) => index),
    [margin.left, Math.max(width, 80) - margin.right],
  ).padding(0.22)
  const y = scaleLinear([0, most], [height - margin.bottom, margin.top]).nice(4)
  const every = width < 480 ? 6 : 3
  const shown = hours[pointedAt ?? hours.length - 1]
  return (
    <figure className="chart">
      <figcaption className="chart-legend">
        <span className="legend-mark paid" /> Payments
        <span className="legend-mark denied" /> Denials
        <span className="chart-reading quiet figures" aria-hidden="true">
          {shown && readingOf(shown)}
        </span>
      </figcaption>
      <div ref={box} onPointerLeave={() => setPointedAt(undefined)}>
        <svg className="chart-drawing" width={width} height={height} aria-hidden="true">
          <HatchPattern />
          {y.ticks(4).map((tick) => (
            <g key={tick} transform={`translate(0, ${y(tick)})`}>
              <line className="chart-grid" x1={margin.left} x2={width - margin.right} />
              <text className="chart-tick" x={margin.left - 8} dy="0.32em" textAnchor="end">
                {tick}
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
                {(hours.length - 1 - index) % every === 0 && (
                  <text
                    className="chart-tick"
                    x={index === hours.length - 1 ? left + x.bandwidth() : left + x.bandwidth() / 2}
                    y={height - 6}
                    textAnchor={index === hours.length - 1 ? 'end' : 'middle'}
                  >
                    {hourText.format(Date.parse(hour.starts_at))}
                  </text>
                )}
              </g>
            )
          })}
        </svg>
      </div>
      <table className="only-read-aloud">
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
              <th scope="row">{hourText.format(Date.parse(hour.starts_at))}</th>
              <td>{hour.paid_count}</td>
              <td>{hour.paid_total}</td>
              <td>{hour.denied_count}</td>
            </tr>
          ))}
        </tbody>
      </table>
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

function readingOf({ starts_at, paid_count, paid_total, denied_count }: Activity): string {
  const from = hourText.format(Date.parse(starts_at))
  return `from ${from}: ${counted(paid_count, 'payment')}, ${groupDigits(paid_total)} USDC, ${counted(denied_count, 'denial')}`
}
