import type { FinishedRequest } from '../http/watch-requests.ts'
import { family } from './catalogue.ts'
import type { Family, Sample } from './families.ts'
import { Histogram, requestSeconds } from './histogram.ts'

/** The methods used as labels; clients may send others, and each would be another series. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'])

/** OpenTelemetry's label for all others. */
const otherMethod = '_OTHER'

/** Request durations by method, route and status. Routes are templates, so their number is bounded. */
export class RequestDurations {
  readonly #series = new Map<string, { readonly labels: Sample['labels']; readonly durations: Histogram }>()

  observe({ request, route, status, ms }: FinishedRequest): void {
    const method = knownMethods.has(request.method) ? request.method : otherMethod
    const key = `${method} ${status} ${route}`
    let series = this.#series.get(key)
    if (!series) {
      const labels = {
        http_request_method: method,
        http_route: route,
        http_response_status_code: String(status),
      }
      this.#series.set(key, (series = { labels, durations: new Histogram(requestSeconds) }))
    }
    series.durations.observe(ms / 1_000)
  }

  families(): Family[] {
    const samples = [...this.#series.values()].map(({ labels, durations }) => ({
      labels,
      value: durations.read(),
    }))
    return [family('http_server_request_duration_seconds', samples)]
  }
}
