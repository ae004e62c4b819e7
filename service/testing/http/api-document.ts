/** A part of the OpenAPI document, which may be in its components. */
export type Referable = Readonly<Record<string, unknown>>

export interface DescribedSchema extends Referable {
  readonly properties?: Readonly<Record<string, DescribedSchema>>
}

export interface DescribedHeader {
  readonly required?: boolean
  readonly schema: { readonly type: string; readonly pattern?: string; readonly enum?: readonly string[] }
}

export interface DescribedResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, DescribedHeader>>
  readonly content: Readonly<Record<string, { readonly schema: DescribedSchema }>>
}

export interface DescribedOperation {
  readonly operationId: string
  readonly security?: unknown[]
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description: string
    readonly schema: DescribedSchema
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: DescribedSchema }>>
  }
  readonly responses: Readonly<Record<string, DescribedResponse>>
}

/** The OpenAPI document as it is served. */
export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly version: string; readonly title: string }
  readonly security: unknown[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Referable>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, DescribedSchema>>>>
}

/** Every operation of the document, with references resolved. */
export function describedOperations(
  document: ApiDocument,
): { readonly method: string; readonly path: string; readonly operation: DescribedOperation }[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: resolved(document, operation) as DescribedOperation,
    })),
  )
}

/** The part with all references replaced by their targets. Properties next to a reference take precedence. */
function resolved(document: ApiDocument, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => resolved(document, item))
  if (typeof part !== 'object' || part === null) return part
  const { $ref, ...others } = part as Record<string, unknown>
  const whole = typeof $ref === 'string' ? { ...componentAt(document, $ref), ...others } : others
  return Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, resolved(document, value)]))
}

function componentAt(document: ApiDocument, reference: string): Referable {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(reference) ?? []
  const component = document.components[kind]?.[name]
  if (!component) throw new Error(`${reference} leads nowhere`)
  return component
}
