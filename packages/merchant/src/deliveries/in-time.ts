/** The value, or a rejection with the message if it takes longer. */
export function inTime<Value>(
  value: Value | Promise<Value>,
  { ms, message }: { readonly ms: number; readonly message: string },
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms)
  })
  return Promise.race([value, late]).finally(() => clearTimeout(timer))
}
