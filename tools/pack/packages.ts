/** A package that others install, and what it promises them. */
export interface PublishedPackage {
  readonly name: string
  /** Its folder, from the project's. */
  readonly folder: string
  /** `any` is compiled without the types of Node, so that it cannot lean on them. */
  readonly platform: 'any' | 'node'
  /** Whether it may bring other packages along. */
  readonly mayDepend: boolean
  /** Programs in `consumers/` that use it, print `done`, and fail when something is not as it should be. */
  readonly programs: readonly string[]
  /** Its command, called so that it says something and ends: the file in the package, and what comes behind. */
  readonly command?: { readonly file: string; readonly parameters: readonly string[] }
  /** What is imported together by somebody who counts bytes, and how many these may be, minified and gzipped. */
  readonly bundles: readonly { readonly imports: readonly string[]; readonly maxGzipBytes: number }[]
}

/** What `npm run pack` makes, in this order: a package stands behind those that it imports. */
export const publishedPackages: readonly PublishedPackage[] = [
  {
    name: '@purser/client',
    folder: 'packages/client',
    platform: 'any',
    mayDepend: false,
    programs: ['client.ts'],
    bundles: [{ imports: ['@purser/client'], maxGzipBytes: 8 * 1024 }],
  },
]
