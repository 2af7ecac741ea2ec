import { readFile } from 'node:fs/promises'

/** A package that users of the program get. */
export interface LockedPackage {
  /** The folder of the package, below that of the program. */
  readonly path: string
  readonly version: string
  /** Subresource Integrity of the archive; absent where the lock has none. */
  readonly integrity?: string
}

/** Reads the packages that the published lock installs. */
export async function lockedPackages(): Promise<readonly LockedPackage[]> {
  // An optional peer of one of them is installed for development alone.
  return (await entries()).filter(({ dev, devOptional }) => dev !== true && devOptional !== true)
}

/** Reads all packages of the lock, those for development included. */
export async function everyLockedPackage(): Promise<readonly LockedPackage[]> {
  return entries()
}

async function entries(): Promise<
  readonly (LockedPackage & { readonly dev?: boolean; readonly devOptional?: boolean })[]
> {
  const { packages } = JSON.parse(await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8'))
  const { '': _program, ...installed } = packages
  return Object.entries<Omit<LockedPackage, 'path'>>(installed).map(([path, entry]) => Object.assign(entry, { path }))
}
