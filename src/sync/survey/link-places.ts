import { foldersAbove, isBelow, joinPath, linkTarget, MOST_LINKS, relativeTo } from '../../base/paths.ts'
import { FOLDER_REF } from '../model/revision.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'

/** The target of a link, or the reason for its refusal. Paths are relative to the repository's root. */
export type Resolved =
  | { readonly kind: 'entry'; readonly path: string; readonly entry: TreeEntry }
  | { readonly kind: 'refused'; readonly why: string; readonly isUnread?: true; readonly isOutward?: true }

/** The folder that a link must not leave. */
export interface LinkBounds {
  /** From the repository's root. */
  readonly folder: string
  /** The name of the folder for people: "the skill". */
  readonly called: string
}

/** The text of a link, by its blob id; `undefined` if it is not a valid link text. */
export type TextOf = (link: ObjectId) => string | undefined

/**
 * Follows a link inside the commit's tree, or inside one folder of it, and never outside. It goes only through real
 * folders: a folder that is itself a link is refused, so that two links cannot combine into a way out.
 */
export function follow(
  places: LinkPlaces,
  textOf: TextOf,
  link: { readonly path: string; readonly id: ObjectId },
  bounds?: LinkBounds,
): Resolved {
  let path = link.path
  let id = link.id
  for (let hop = 0; hop < MOST_LINKS; hop += 1) {
    const text = textOf(id)
    if (text === undefined) return refusal('its text is not a path')
    const target = linkTarget(path, text)
    if (target === undefined)
      return { ...refusal(`its target "${shownText(text)}" is ${places.outside}`), isOutward: true }
    // The target is not even checked: content inside is judged again only after a change in its own folder.
    if (bounds !== undefined && !isBelow(target, bounds.folder)) return refusal(`it leads out of ${bounds.called}`)
    const entry = places.entryAt(target)
    if (entry === undefined) return refusal(`its target "${shownText(text)}" does not exist`)
    if (entry.kind === 'submodule') return refusal(`its target "${shownText(text)}" is a submodule`)
    if (entry.kind === 'unread') return { ...refusal(`its target "${shownText(text)}" cannot be read`), isUnread: true }
    if (entry.kind !== 'link') return { kind: 'entry', path: target, entry }
    path = target
    id = entry.id
  }
  return refusal(`it leads through more than ${MOST_LINKS} links`)
}

/**
 * The path of a folder that the configuration names, after all links on the way to it, or the reason why one is
 * refused. `read` gives the text of a link. A path without links comes back as it is, also if nothing is there.
 */
export async function realPath(
  places: LinkPlaces,
  folder: string,
  read: (link: ObjectId) => Promise<string | undefined>,
): Promise<{ readonly path: string } | { readonly why: string }> {
  let path = folder
  for (let hop = 0; hop <= MOST_LINKS; hop += 1) {
    const link = [path, ...foldersAbove(path)].findLast((above) => places.entryAt(above)?.kind === 'link')
    const entry = link === undefined ? undefined : places.entryAt(link)
    if (link === undefined || entry === undefined) {
      const isFound = path === folder || FOLDERS.has(places.entryAt(path)?.kind ?? '')
      return isFound ? { path } : { why: `it is a link to "${shownText(path)}", which is not a folder of the commit` }
    }
    const text = await read(entry.id)
    if (text === undefined) return { why: `the text of the link "${link}" is not a path` }
    const target = linkTarget(link, text)
    if (target === undefined) return { why: `the link "${link}" leads to "${shownText(text)}", ${places.outside}` }
    path = joinPath(target, relativeTo(link, path))
  }
  return { why: `it leads through more than ${MOST_LINKS} links` }
}

/** It is unknown what is in an unread place. */
const FOLDERS: ReadonlySet<string> = new Set(['folder', 'unread'])

/**
 * The folders that links lead through. Each is read once: thousands of links may lead through one with thousands of
 * names.
 */
export class LinkPlaces {
  /** The place where a link leads that leaves the tree, for messages. */
  readonly outside: string
  readonly #tree: Tree
  readonly #byName = new Map<ObjectId, ReadonlyMap<string, TreeEntry>>()

  constructor(tree: Tree) {
    this.outside = `outside the ${tree.revision.ref === FOLDER_REF ? 'folder of the source' : 'repository'}`
    this.#tree = tree
  }

  /** The entry at a path from the repository's root, including the root itself, through real folders only. */
  entryAt(path: string): TreeEntry | undefined {
    let entry: TreeEntry | undefined = { name: '', kind: 'folder', id: this.#tree.root }
    for (const name of path === '' ? [] : path.split('/')) {
      // It is unknown whether anything exists there.
      if (entry?.kind === 'unread') return entry
      if (entry?.kind !== 'folder') return undefined
      entry = this.#namesIn(entry.id).get(name)
    }
    return entry
  }

  #namesIn(folder: ObjectId): ReadonlyMap<string, TreeEntry> {
    const known = this.#byName.get(folder)
    if (known !== undefined) return known
    const usable = this.#tree.list(folder).filter(({ kind }) => kind !== 'unusable-file' && kind !== 'unusable-folder')
    const byName = new Map(usable.map((entry) => [entry.name, entry]))
    this.#byName.set(folder, byName)
    return byName
  }
}

function refusal(why: string): Extract<Resolved, { readonly kind: 'refused' }> {
  return { kind: 'refused', why }
}

function shownText(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
