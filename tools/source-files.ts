import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The project's folder. */
export const projectFolder = join(import.meta.dirname, '..')

/** A source file, by path relative to the project. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Every TypeScript file below the folders, tests included, sorted by path. */
export function sourceFiles(folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) => readdirSync(join(projectFolder, folder), { recursive: true, withFileTypes: true }))
    .filter(
      (entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path: relative(projectFolder, path), text: readFileSync(path, 'utf8') }))
}
