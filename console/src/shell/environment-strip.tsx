import type { Environment } from '@purser/client'
import { Link } from 'react-router'

import { useConnection } from '../api/connection.tsx'
import { useSeen } from '../api/seen.tsx'
import { durationInWords } from '../text/counts.ts'
import './environment-strip.css'

const words = {
  sandbox: 'Sandbox',
  production: 'Production',
} as const satisfies Record<Environment, string>

const remarks = {
  sandbox: 'Test money: no real charges.',
  production: 'Live: changes here affect your agents.',
} as const satisfies Record<Environment, string>

/** Always at the top, with a different look for each environment, so that they are never confused. */
export function EnvironmentStrip() {
  const { environment, session } = useSeen()
  const { testClockSeconds } = useConnection()
  const other = session.environments.find((one) => one !== environment)
  return (
    <div className={`environment-strip ${environment}`} role="region" aria-label="Environment">
      <strong>{words[environment]}</strong>
      <span className="environment-remark">{remarks[environment]}</span>
      {testClockSeconds > 0 && <span>{`Test clock: ${durationInWords(testClockSeconds)} ahead.`}</span>}
      {other && <Link to={`/${other}`}>Go to {words[other].toLowerCase()}</Link>}
    </div>
  )
}
