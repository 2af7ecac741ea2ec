import { readFile } from 'node:fs/promises'

/** A package of the lock. */
export interface LockedPackage {
  /** The folder of the package, below that of the program. */
  readonly path: string
  readonly version: string
  /** Subresource Integrity of the archive; absent where the lock has none. */
  readonly integrity?: string
  /** True if only development needs it. */
  readonly dev?: boolean
}

/** Reads all packages of the lock. */
export async function lockedPackages(): Promise<readonly LockedPackage[]> {
  const { packages } = JSON.parse(await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8'))
  const { '': _program, ...installed } = packages
  return Object.entries<Omit<LockedPackage, 'path'>>(installed).map(([path, entry]) => Object.assign(entry, { path }))
}

/** A package that the build put into the program. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly path: string
  /** The files of the program with its code. */
  readonly files: readonly string[]
}

/** Reads the build's own list of them. */
export async function bundledPackages(): Promise<readonly BundledPackage[]> {
  return JSON.parse(await readFile(new URL('../../../dist/program/packages.json', import.meta.url), 'utf8'))
}
