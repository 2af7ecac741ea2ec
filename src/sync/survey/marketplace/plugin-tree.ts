/** The files of a revision, as the reader of marketplaces sees them. */
export interface PluginTree {
  /** True if the earlier marketplace was read from a tree with the same content at the path. */
  isUnchanged(path: string): boolean
  /** The entries of a folder; `undefined` if there is no such folder. */
  list(folder: string): readonly PluginTreeEntry[] | undefined
  /** True for a file, and false for a link. */
  isFile(path: string): boolean
  /** Fetches files, those that do not exist left out. A file over `bytes` is fetched too, and refused. */
  open(files: readonly PluginFile[], bytes: number): Promise<OpenFiles>
}

export interface PluginTreeEntry {
  readonly name: string
  readonly kind: 'file' | 'folder'
}

export interface PluginFile {
  readonly path: string
  /** The folder that a link at the path must not leave. */
  readonly within: string
}

/** Returns the content of an opened file; `undefined` if there is no such file. */
export type OpenFiles = (file: PluginFile) => FileText | undefined

/** A text, or the reason why the file is not readable as one. */
export type FileText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string }
