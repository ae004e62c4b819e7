import { nameOf, type Report, type Row } from './report.ts'
import type { Verdict } from './verdicts.ts'

/** The colors are in the file itself, on its own background, so that it is readable on any page. */
const style = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .muted { fill: #59636e }
  .value { font-variant-numeric: tabular-nums }
  .ground { fill: #ffffff; stroke: #d1d9e0 }
  .rail { fill: #eff2f5 }
  .service { fill: #0969da }
  .without { fill: #9a6700 }
  .echo { fill: #818b98 }
  .met { fill: #1a7f37 }
  .missed { fill: #cf222e }
  .target { stroke: #1f2328; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .muted { fill: #9198a1 }
    .ground { fill: #0d1117; stroke: #3d444d }
    .rail { fill: #21262d }
    .service { fill: #4493f8 }
    .without { fill: #d29922 }
    .echo { fill: #848d97 }
    .met { fill: #3fb950 }
    .missed { fill: #f85149 }
    .target { stroke: #e6edf3 }
  }`

const width = 940
const margin = 24
const barsLeft = 340
const barsWidth = 340
const textLeft = barsLeft + barsWidth + 12
const lineHeight = 26

/** The report as an SVG picture: operations per second of each flow, and each target. */
export function drawChart(report: Report): string {
  const { machine, disk, verdicts } = report
  const rows = rowsToDraw(report.rows)
  const largest = Math.max(...rows.map(({ perSecond }) => perSecond))
  const firstBar = 92
  const firstVerdict = firstBar + rows.length * lineHeight + 56
  const drawnHeight =
    verdicts.length > 0
      ? firstVerdict + verdicts.length * lineHeight + 8
      : firstBar + rows.length * lineHeight + 8
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${drawnHeight}" viewBox="0 0 ${width} ${drawnHeight}" role="img" aria-label="Operations per second">`,
    `<style>${style}\n</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${width - 1}" height="${drawnHeight - 1}" rx="8"/>`,
    text({ x: margin, y: 34, css: 'title' }, 'Operations per second, 64 clients'),
    text(
      { x: margin, y: 56, css: 'muted' },
      `${machine.processors} × ${machine.processor} shared by server and clients, Node ${machine.node}, ${disk.fileSystem}, sync ${(disk.syncMicros.p50 / 1000).toFixed(2)} ms, ${report.at.slice(0, 10)}`,
    ),
    ...rows.map((row, index) => drawRow(row, firstBar + index * lineHeight, largest)),
    ...(verdicts.length > 0 ? [text({ x: margin, y: firstVerdict - 22, css: 'title' }, 'Targets')] : []),
    ...verdicts.map((verdict, index) => drawVerdict(verdict, firstVerdict + index * lineHeight)),
    '</svg>',
    '',
  ].join('\n')
}

/** The rates with 64 clients, and of raw SQL over its connections, fastest first. */
function rowsToDraw(rows: readonly Row[]): Row[] {
  return rows
    .filter(
      ({ service, clients, spread, flow }) =>
        (clients === 64 || service === 'raw SQL') && (spread === 'uniform' || flow === 'verify'),
    )
    .sort((left, right) => right.perSecond - left.perSecond)
}

function drawRow(row: Row, y: number, largest: number): string {
  const css = row.service === 'service' ? 'service' : row.service === 'echo' ? 'echo' : 'without'
  const rate = Math.round(row.perSecond).toLocaleString('en')
  const label = row.service === 'echo' ? 'bare Fastify echo' : nameOf(row).replace(', 64 clients', '')
  return [
    text({ x: margin, y: y + 13 }, label),
    bar({ x: barsLeft, y, css }, (row.perSecond / largest) * barsWidth),
    text(
      { x: textLeft, y: y + 13, css: 'value' },
      `${rate}/s · p99 ${(row.latencyMicros.p99 / 1000).toFixed(1)} ms`,
    ),
  ].join('\n')
}

/** A bar on a scale that ends at twice the target, so the target is in the middle of every bar. */
function drawVerdict({ name, median, bound, unit, isMet }: Verdict, y: number): string {
  const target = 'least' in bound ? bound.least : bound.most
  const sign = 'least' in bound ? '≥' : '≤'
  const share = Math.min(median / (2 * target), 1)
  const label = name.replace(', 64 clients', '')
  const targetX = barsLeft + barsWidth / 2
  return [
    text({ x: margin, y: y + 13 }, 'least' in bound ? label : `${label} (shorter is better)`),
    bar({ x: barsLeft, y, css: 'rail' }, barsWidth),
    bar({ x: barsLeft, y, css: isMet ? 'met' : 'missed' }, share * barsWidth),
    `<line class="target" x1="${targetX}" x2="${targetX}" y1="${y - 3}" y2="${y + 19}"/>`,
    text(
      { x: textLeft, y: y + 13, css: 'value' },
      `${median.toFixed(2)}${unit}, target ${sign} ${target}${unit}${isMet ? '' : ': missed'}`,
    ),
  ].join('\n')
}

interface Place {
  readonly x: number
  readonly y: number
  readonly css?: string
}

function text({ x, y, css = '' }: Place, content: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text class="${css}" x="${x}" y="${y}">${escaped}</text>`
}

function bar({ x, y, css = '' }: Place, length: number): string {
  return `<rect class="${css}" x="${x}" y="${y}" width="${length.toFixed(1)}" height="16" rx="3"/>`
}
