/** A value, or a promise of it: requests wait only if they have to. */
export type MaybePromise<Value> = Value | Promise<Value>

/** Applies a function to the value, at once if it is already there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  followUp: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(followUp) : followUp(value)
}

/** Shares one run of a task between concurrent callers. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined
  return () => (underWay ??= work().finally(() => (underWay = undefined)))
}
