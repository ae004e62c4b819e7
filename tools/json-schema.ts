/** The subset of JSON schema that packages/wire and the tools use. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: string | boolean
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-above-zero'?: boolean
}
