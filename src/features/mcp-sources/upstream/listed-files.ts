import { folderOf, isBelow } from '../../../base/paths.ts'
import { firstFrom, inPathOrder } from '../../../sync/model/digest.ts'
import { pathOf, readUpstreamUri } from '../../../sync/model/uris/upstream-uri.ts'

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

/** Returns the server's statements about a file in a form to compare and store. */
export function saidIn(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(0, MOST_SAID)
}

const MOST_SAID = 2048

/** Returns the folder path of a skill; `undefined` if the URI does not name a SKILL.md. */
export function skillPathOf(uri: string): string | undefined {
  const read = readUpstreamUri(uri)
  if (!read.ok || read.segments.at(-1) !== 'SKILL.md' || read.segments.length < 2) return undefined
  return folderOf(pathOf(read))
}

/** Returns everything before `/SKILL.md`, as the server wrote it. */
export function rootOf(uri: string): string {
  return uri.slice(0, uri.lastIndexOf('/'))
}

/** Returns the URI of a skill's file, and encodes the path. */
export function uriOfFile(uri: string, path: string): string {
  return path === 'SKILL.md' ? uri : `${rootOf(uri)}/${path.split('/').map(encodeURIComponent).join('/')}`
}
