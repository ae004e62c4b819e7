import { Component, useEffect, useState, type ComponentType, type ReactNode } from 'react'

import { isDown, useConnection } from '../api/connection.tsx'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { ScreenHead } from '../ui/panel.tsx'
import { Waiting } from '../ui/waiting.tsx'

/** A screen's code failed to load: the service is down, or it was updated and the old files are gone. */
class ScreenNotLoadedError extends Error {}

/** A lazily loaded screen. `Suspense` would delay its first appearance: React shows a fallback for at least 300 ms. */
export function lazyScreen(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined
  return function LazyScreen() {
    const [Screen, setScreen] = useState(() => loaded)
    const [failure, setFailure] = useState<ScreenNotLoadedError>()
    useEffect(() => {
      async function show() {
        try {
          const screen = (loaded ??= await load())
          setScreen(() => screen)
        } catch (error) {
          setFailure(new ScreenNotLoadedError(String(error), { cause: error }))
        }
      }
      void show()
    }, [])
    if (failure) throw failure
    return Screen ? <Screen /> : <Waiting lines={8} />
  }
}

interface State {
  readonly error: Error | undefined
}

/** Contains the error of a screen, so that the frame survives. */
export class Boundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <div className="screen">
        {error instanceof ScreenNotLoadedError ? <NotLoaded error={error} /> : <Broken error={error} />}
      </div>
    )
  }
}

/** Reloads the page once when the service answers, so that a missing file ends in an error message. */
function NotLoaded({ error }: { readonly error: Error }) {
  const connection = useConnection()
  const [wasReloaded] = useState(isJustReloaded)
  const { check, state } = connection
  useEffect(() => {
    if (wasReloaded || state !== 'up') return
    void check().then((isThere) => isThere && reload())
  }, [wasReloaded, state, check])
  if (wasReloaded && !isDown(connection)) return <Broken error={error} />
  return (
    <>
      <ScreenHead
        title="This screen is not loaded yet"
        lead="It appears here as soon as the service answers."
      />
      <Waiting lines={8} />
    </>
  )
}

function Broken({ error }: { readonly error: Error }) {
  return (
    <>
      <ScreenHead title="This screen could not be shown" />
      <Notice tone="bad">
        <div className="stack-tight">
          <p>If the service was updated since you opened the page, reloading it helps.</p>
          <p className="small quiet">{error.message}</p>
          <div>
            <Button onClick={() => location.reload()}>Reload the page</Button>
          </div>
        </div>
      </Notice>
    </>
  )
}

const reloadMark = 'purser.reloaded'
const justNowMs = 30_000

function reload(): void {
  sessionStorage.setItem(reloadMark, JSON.stringify([location.pathname, Date.now()]))
  location.reload()
}

/** Whether this screen recently reloaded the page. */
function isJustReloaded(): boolean {
  const [path, atMs] = JSON.parse(sessionStorage.getItem(reloadMark) ?? '[]') as [string?, number?]
  return path === location.pathname && Date.now() - (atMs ?? 0) < justNowMs
}
