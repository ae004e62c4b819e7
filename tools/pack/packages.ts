/** A package that others install, and what it promises them. */
export interface PublishedPackage {
  readonly name: string
  /** Its folder, from the project's. */
  readonly folder: string
  /** `any` is compiled without the types of Node, so that it cannot lean on them. */
  readonly platform: 'any' | 'node'
  /** Whether it may bring other packages along. */
  readonly mayDepend: boolean
  /** A program in `consumers/` that uses it, prints `done`, and fails when something is not as it should be. */
  readonly program: string
  /** What may be bundled together, by the names under which it is imported, and how large that may be. */
  readonly bundles: readonly { readonly imports: readonly string[]; readonly maxGzipBytes: number }[]
}

/** What `npm run pack` makes, in this order: a package stands behind those that it imports. */
export const publishedPackages: readonly PublishedPackage[] = [
  {
    name: '@purser/client',
    folder: 'packages/client',
    platform: 'any',
    mayDepend: false,
    program: 'client.ts',
    bundles: [{ imports: ['@purser/client'], maxGzipBytes: 8 * 1024 }],
  },
]
