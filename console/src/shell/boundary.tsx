import { Component, type ReactNode } from 'react'

import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { ScreenHead } from '../ui/panel.tsx'

interface State {
  readonly error: Error | undefined
}

/**
 * Keeps a screen that breaks from taking the frame with it. The usual reason is a service that was updated while the
 * page was open: its older files are gone.
 */
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
        <ScreenHead title="This screen could not be shown" />
        <Notice tone="bad">
          <div className="stack-tight">
            <p>If the service was updated since you opened the page, loading it again helps.</p>
            <p className="small quiet">{error.message}</p>
            <div>
              <Button onClick={() => location.reload()}>Load again</Button>
            </div>
          </div>
        </Notice>
      </div>
    )
  }
}
