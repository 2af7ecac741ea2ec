import { isBelow } from '../../../base/paths.ts'
import { firstFrom, inPathOrder } from '../../model/digest.ts'
import { pathOf, readUpstreamUri } from '../../model/upstream-uri.ts'

/** A file in a list of resources. */
export interface ListedFile {
  readonly uri: string
  readonly size: number | undefined
  /** All statements of the server about its bytes. */
  readonly said: string
}

/**
 * The files of one list, indexed by URI and path. A server may list thousands, and each of as many skills searches its
 * own, so each file is parsed only once.
 */
export class ListedFiles implements Iterable<ListedFile> {
  readonly #files: readonly ListedFile[]
  #byUri: ReadonlyMap<string, ListedFile> | undefined
  #byPath: readonly Placed[] | undefined

  constructor(files: readonly ListedFile[]) {
    this.#files = files
  }

  [Symbol.iterator](): Iterator<ListedFile> {
    return this.#files[Symbol.iterator]()
  }

  at(uri: string): ListedFile | undefined {
    this.#byUri ??= new Map(this.#files.map((file) => [file.uri, file]))
    return this.#byUri.get(uri)
  }

  /** Returns the files below a folder, in path order. */
  below(folder: string): readonly ListedFile[] {
    this.#byPath ??= inOrder(this.#files)
    const first = firstFrom(this.#byPath, `${folder}/`, ({ path }) => path)
    // Paths with the same prefix are adjacent.
    let end = first
    while (isBelow(this.#byPath[end]?.path ?? '', folder)) end += 1
    return this.#byPath.slice(first, end).map(({ file }) => file)
  }
}

interface Placed {
  readonly path: string
  readonly file: ListedFile
}

function inOrder(files: readonly ListedFile[]): readonly Placed[] {
  const placed = files.flatMap((file) => {
    const path = pathOfUri(file.uri)
    return path === undefined ? [] : [{ path, file }]
  })
  return inPathOrder(placed)
}

/** Returns the path of a URI; `undefined` if a skill cannot have a file with this URI. */
export function pathOfUri(uri: string): string | undefined {
  const read = readUpstreamUri(uri)
  return read.ok ? pathOf(read) : undefined
}
