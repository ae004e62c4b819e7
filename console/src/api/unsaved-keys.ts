import type { IssuedApiKey } from '@purser/client'
import { useSyncExternalStore } from 'react'

interface Unsaved {
  readonly title: string
  readonly issued: IssuedApiKey
}

/** The keys that were issued in this window and are not saved yet. No screen holds them: it may be left meanwhile. */
let unsaved: readonly Unsaved[] = []
let signOuts = 0
const listeners = new Set<() => void>()

function change(next: readonly Unsaved[]): void {
  unsaved = next
  for (const tell of listeners) tell()
}

/** Shows the key that is requested now on every screen until it is saved; false if there was a sign-out in between. */
export function expectKey(): (key: Unsaved) => boolean {
  const before = signOuts
  return (key) => {
    if (signOuts !== before) return false
    change([...unsaved, key])
    return true
  }
}

export function forgetKey(key: Unsaved): void {
  change(unsaved.filter((one) => one !== key))
}

/** Forgets all keys on sign-out, also those whose answers are still to come. */
export function forgetKeys(): void {
  signOuts += 1
  change([])
}

export function useUnsavedKeys(): readonly Unsaved[] {
  return useSyncExternalStore(subscribe, () => unsaved)
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}
