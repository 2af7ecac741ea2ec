import { joinPath } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Tree, TreeEntry } from '../model/tree.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import type { FoundFile, FoundLink } from './find-skills.ts'
import { submoduleDiagnostic } from './link-resolver.ts'
import { unusableDiagnostic } from './read-skill.ts'

/** The result of one walk over the docs folder: only names and ids, no content. Paths are relative to the folder. */
export interface FoundDocs {
  readonly files: readonly FoundFile[]
  /** Links with a Markdown name. */
  readonly links: readonly FoundLink[]
  /** Places that are not entered, though they may contain docs. */
  readonly unread: readonly FoundLink[]
  readonly findings: readonly SkillDiagnostic[]
}

/** Walks the folder for its Markdown files. The fetch has limited the number and the depth of the entries. */
export function findDocs(tree: Tree, folder: string, id: ObjectId): FoundDocs {
  const walk = new Walk(tree, folder)
  walk.enter('', id)
  return walk
}

/** The tree at a path of the repository, through real folders only; or the finding that it is missing or unreadable. */
export function docsTree(tree: Tree, folder: string): ObjectId | SkillDiagnostic {
  let id = tree.root
  for (const name of folder === '' ? [] : folder.split('/')) {
    const entry = tree.list(id).find((candidate) => candidate.name === name)
    if (entry?.kind === 'unread') return { rule: 'not-read', path: folder, message: UNREAD }
    if (entry?.kind !== 'folder') {
      const what = entry === undefined ? 'is not in the commit' : `is not a folder but a ${entry.kind}`
      return { rule: 'docs-missing', path: folder, message: `The docs folder ${what}; nothing of it is served` }
    }
    id = entry.id
  }
  return id
}

const UNREAD = 'The docs folder cannot be read; what was served of it stays in service'

class Walk implements FoundDocs {
  readonly files: FoundFile[] = []
  readonly links: FoundLink[] = []
  readonly unread: FoundLink[] = []
  readonly findings: SkillDiagnostic[] = []
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
        this.findings.push(submoduleDiagnostic(joinPath(this.#folder, path)))
        return
      case 'unread':
        this.unread.push({ path, id })
        return
      case 'unusable-file':
      case 'unusable-folder':
        this.findings.push(unusableDiagnostic(joinPath(this.#folder, path), 'A file or folder'))
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

  /** URIs are case-sensitive, and so is this check of the ending: a file that would not be found gets a finding. */
  #isMarkdown(path: string): boolean {
    if (path.endsWith('.md')) return true
    if (!path.toLowerCase().endsWith('.md')) return false
    const message = 'The ending is not ".md" in lower case, and nothing else is served; rename the file'
    this.findings.push({ rule: 'file-name-case', path: joinPath(this.#folder, path), message })
    return false
  }
}
