import { firstFrom, inPathOrder } from '../../model/digest.ts'
import { isBelow } from '../../../base/paths.ts'
import { pathOf, readUpstreamUri } from '../../model/upstream-uri.ts'

/** A file as a list of resources has it. */
export interface ListedFile {
  readonly uri: string
  readonly size: number | undefined
  /** All that is said of its bytes. */
  readonly said: string
}

/**
 * The files of one list. A server lists them in thousands and has as many skills that look for theirs, so that each file is
 * looked at once and no more.
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

  /** In the order of their paths. */
  below(folder: string): readonly ListedFile[] {
    this.#byPath ??= inOrder(this.#files)
    const first = firstFrom(this.#byPath, `${folder}/`, ({ path }) => path)
    // What begins alike stands together.
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

/** As paths have it; undefined for the URI of nothing that a skill consists of. */
export function pathOfUri(uri: string): string | undefined {
  const read = readUpstreamUri(uri)
  return read.ok ? pathOf(read) : undefined
}
