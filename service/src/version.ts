import packageJson from '../package.json' with { type: 'json' }

/** The release of the service. */
export const version: string = packageJson.version
