/** The oldest Node that the service is tested with. */
const oldestNode = 24

/** Why this Node is too old for the service, and the remedy; undefined if it is not. */
export function nodeFault(version: string): string | undefined {
  return Number.parseInt(version, 10) >= oldestNode
    ? undefined
    : `the service needs Node ${oldestNode} or newer, and this is Node ${version}; run npm install node@${oldestNode} in the folder where it is installed, and start it with npx`
}
