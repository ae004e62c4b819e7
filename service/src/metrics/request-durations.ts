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
  readonly #routes = new Map<string, Map<string, Map<number, Histogram>>>()

  observe({ request, route, status, ms }: FinishedRequest): void {
    const method = knownMethods.has(request.method) ? request.method : otherMethod
    const methods = entry(this.#routes, route, newMap<string, Map<number, Histogram>>)
    const statuses = entry(methods, method, newMap<number, Histogram>)
    entry(statuses, status, newHistogram).observe(ms / 1_000)
  }

  families(): Family[] {
    const samples: Sample[] = []
    for (const [route, methods] of this.#routes) {
      for (const [method, statuses] of methods) {
        for (const [status, durations] of statuses) {
          const labels = {
            http_request_method: method,
            http_route: route,
            http_response_status_code: String(status),
          }
          samples.push({ labels, value: durations.read() })
        }
      }
    }
    return [family('http_server_request_duration_seconds', samples)]
  }
}

function newMap<Key, Value>(): Map<Key, Value> {
  return new Map()
}

function newHistogram(): Histogram {
  return new Histogram(requestSeconds)
}

/** The value of a key, created if missing. */
function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}
