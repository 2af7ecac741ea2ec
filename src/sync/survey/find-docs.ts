import type { FoundFile, FoundLink } from './find-skills.ts'
import type { Finding } from '../skill-md/finding.ts'
import { joinPath } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'
import { unusableFinding } from './read-skill.ts'
import { submoduleFinding } from './link-resolver.ts'

/** What one walk over the docs folder found: names and ids, no content was read. Paths are relative to it. */
export interface FoundDocs {
  readonly files: readonly FoundFile[]
  /** Links that are called like Markdown. */
  readonly links: readonly FoundLink[]
  /** What is not looked into, though it may hold some. */
  readonly unread: readonly FoundLink[]
  readonly findings: readonly Finding[]
}

/** Walks the folder for its Markdown files. The fetch has bounded how many entries a commit has, and how deep they lie. */
export function findDocs(tree: Tree, folder: string, id: ObjectId): FoundDocs {
  const walk = new Walk(tree, folder)
  walk.enter('', id)
  return walk
}

/** The tree at a path of the repository, through real folders only; or the finding that there is none, or none to be read. */
export function docsTree(tree: Tree, folder: string): ObjectId | Finding {
  let id = tree.root
  for (const name of folder === '' ? [] : folder.split('/')) {
    const entry = tree.list(id).find((candidate) => candidate.name === name)
    if (entry?.kind === 'unread') return { rule: 'not-read', path: folder, message: UNREAD }
    if (entry?.kind !== 'folder') {
      const what = entry === undefined ? 'is not in the commit' : `is no folder but a ${entry.kind}`
      return { rule: 'docs-missing', path: folder, message: `The docs folder ${what}; nothing is served of it` }
    }
    id = entry.id
  }
  return id
}

const UNREAD = 'The docs folder cannot be looked into; what was served of it is served on'

class Walk implements FoundDocs {
  readonly files: FoundFile[] = []
  readonly links: FoundLink[] = []
  readonly unread: FoundLink[] = []
  readonly findings: Finding[] = []
  readonly #tree: Tree
  readonly #folder: string

  constructor(tree: Tree, folder: string) {
    this.#tree = tree
    this.#folder = folder
  }

  enter(path: string, id: ObjectId): void {
    for (const entry of this.#tree.list(id)) this.#visit(joinPath(path, entry.name), entry)
  }

  #visit(path: string, { kind, id }: TreeEntry): void {
    switch (kind) {
      case 'folder':
        return this.enter(path, id)
      case 'submodule':
        this.findings.push(submoduleFinding(joinPath(this.#folder, path)))
        return
      case 'unread':
        this.unread.push({ path, id })
        return
      case 'unusable-file':
      case 'unusable-folder':
        this.findings.push(unusableFinding(joinPath(this.#folder, path), 'A file or folder'))
        return
      case 'link':
        if (this.#isMarkdown(path)) this.links.push({ path, id })
        return
      case 'file':
      case 'executable':
        if (this.#isMarkdown(path)) this.files.push({ path, id, executable: kind === 'executable' })
        return
      default:
        kind satisfies never
    }
  }

  /** URIs tell upper from lower case, and so is the ending read: what nobody would find is named. */
  #isMarkdown(path: string): boolean {
    if (path.endsWith('.md')) return true
    if (!path.toLowerCase().endsWith('.md')) return false
    const message = 'The ending is not ".md" in lower case, and nothing else is served; rename the file'
    this.findings.push({ rule: 'file-name-case', path: joinPath(this.#folder, path), message })
    return false
  }
}
