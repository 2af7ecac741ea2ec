import { foldedPath } from '../../base/paths.ts'

/** The paths of a skill so far, as on a disk that ignores case and Unicode forms. */
export class DeclaredTree {
  readonly #root: Folder = new Map()

  /** Adds the path of a file. If a path is in its way, adds nothing and returns that path in its own spelling. */
  add(path: string): string | undefined {
    const twin = this.twinOf(path)
    if (twin !== undefined) return twin
    const segments = path.split('/')
    let folder = this.#root
    for (const [depth, name] of segments.entries()) {
      const taken = folder.get(foldedPath(name)) ?? {
        name,
        inside: depth === segments.length - 1 ? undefined : new Map(),
      }
      folder.set(foldedPath(name), taken)
      folder = taken.inside ?? folder
    }
    return undefined
  }

  /** The path that is in the way of such a file, in its own spelling; `undefined` if there is none. */
  twinOf(path: string): string | undefined {
    const segments = path.split('/')
    let folder = this.#root
    for (const [depth, name] of segments.entries()) {
      const there = folder.get(foldedPath(name))
      if (there === undefined) return undefined
      const isLast = depth === segments.length - 1
      if (isLast || there.name !== name || there.inside === undefined)
        return [...segments.slice(0, depth), there.name].join('/')
      folder = there.inside
    }
    return undefined
  }
}

type Folder = Map<string, Taken>

interface Taken {
  readonly name: string
  /** `undefined` for a file. */
  readonly inside: Folder | undefined
}
