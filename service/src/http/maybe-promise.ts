/** A value, or a promise of it: what every request asks for waits only where it has to. */
export type MaybePromise<Value> = Value | Promise<Value>

/** What follows from a value, at once where the value is there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  followUp: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(followUp) : followUp(value)
}
