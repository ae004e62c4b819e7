/** What would end a merchant's process during a test; without this, the test runner would report it. */
export function catchCrashes(context: { readonly after: (restore: () => void) => void }): unknown[] {
  const crashes: unknown[] = []
  for (const event of ['unhandledRejection', 'uncaughtException']) {
    const others = process.listeners(event as 'exit')
    process.removeAllListeners(event).on(event, (error) => void crashes.push(error))
    context.after(() => {
      process.removeAllListeners(event)
      for (const other of others) process.on(event, other)
    })
  }
  return crashes
}
