/**
 * The endpoints that interface 0.1.0 lists. It does not mention unknown query parameters, so these endpoints
 * ignore them, as most services do. All other endpoints are ours, and refuse them.
 */
const endpointsOfInterface: ReadonlySet<string> = new Set([
  'POST /mandates',
  'GET /mandates',
  'GET /mandates/{mandate_id}',
  'POST /v1/payments/proof',
  'POST /v1/payments/verify',
  'POST /v1/policy/evaluate',
  'POST /v1/verify-agent',
  'POST /accounts',
  'POST /sellers',
  'GET /sellers',
  'DELETE /accounts/api-keys/{key_id}',
  'PATCH /agents/{agent_id}/revoke',
  'GET /agents/{agent_id}',
])

/** Whether an endpoint answers 422 to an unknown query parameter. */
export function refusesUnknownParameters({
  method,
  path,
}: {
  readonly method: string
  readonly path: string
}): boolean {
  return !endpointsOfInterface.has(`${method} ${path}`)
}
