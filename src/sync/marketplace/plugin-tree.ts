/** The files of a revision, as the reader of marketplaces sees them. */
export interface PluginTree {
  /** True if the earlier marketplace was read from a tree with the same content at the path. */
  isUnchanged(path: string): boolean
  /** The entries of a folder; `undefined` if there is no such folder. */
  list(folder: string): readonly PluginTreeEntry[] | undefined
  /**
   * Fetches files, those that do not exist left out. Links are followed inside `within` and nowhere else. A file over
   * `bytes` is fetched too, and refused before it is parsed.
   */
  open(paths: readonly string[], bounds: ReadBounds): Promise<OpenFiles>
}

export interface PluginTreeEntry {
  readonly name: string
  readonly kind: 'file' | 'folder'
}

export interface ReadBounds {
  readonly bytes: number
  /** The folder that the links of a file must not leave. */
  readonly within: (path: string) => string
}

/** Returns the content of an opened file; `undefined` if there is no such file. */
export type OpenFiles = (path: string) => FileText | undefined

/** A text, or the reason why the file is not readable as one. */
export type FileText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string }
