/** How many streams may be open, in all and for one account. */
export interface StreamLimits {
  readonly most: number
  readonly mostOfAccount: number
}

/** Counts open streams; a slot that is not free is not given. */
export function createStreamSlots({ most, mostOfAccount }: StreamLimits) {
  const openOf = new Map<string, number>()
  let open = 0

  return {
    get open(): number {
      return open
    },

    take(accountId: string): { readonly release: () => void } | undefined {
      const own = openOf.get(accountId) ?? 0
      if (open >= most || own >= mostOfAccount) return undefined
      open += 1
      openOf.set(accountId, own + 1)
      let isReleased = false
      return {
        release: () => {
          if (isReleased) return
          isReleased = true
          open -= 1
          const left = (openOf.get(accountId) ?? 1) - 1
          if (left === 0) openOf.delete(accountId)
          else openOf.set(accountId, left)
        },
      }
    },
  }
}
