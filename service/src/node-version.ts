/** The oldest Node that the service is tested on. */
const oldestNode = 24

/** Why this release of Node will not do for the service, and what would help; undefined when it will do. */
export function nodeFault(version: string): string | undefined {
  return Number.parseInt(version, 10) >= oldestNode
    ? undefined
    : `the service needs Node ${oldestNode} or newer, and this is Node ${version}; npm install node@${oldestNode}, in the folder where it is installed, brings one that npx uses`
}
