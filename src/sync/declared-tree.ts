import { foldedPath } from './model/paths.ts'

/** The paths of a skill so far, as a disk would hold them that counts neither case nor Unicode forms. */
export class DeclaredTree {
  readonly #root: Folder = new Map()

  /** Takes the path of a file in, unless something is in its way: that, as it is spelt there. One look for each segment. */
  add(path: string): string | undefined {
    const segments = path.split('/')
    let folder = this.#root
    for (const [depth, name] of segments.entries()) {
      const isFile = depth === segments.length - 1
      const key = foldedPath(name)
      const there = folder.get(key)
      if (there === undefined) folder.set(key, { name, inside: isFile ? undefined : new Map() })
      else if (isFile || there.name !== name || there.inside === undefined)
        return [...segments.slice(0, depth), there.name].join('/')
      folder = folder.get(key)?.inside ?? folder
    }
    return undefined
  }
}

type Folder = Map<string, Taken>

interface Taken {
  readonly name: string
  /** None for a file. */
  readonly inside: Folder | undefined
}
