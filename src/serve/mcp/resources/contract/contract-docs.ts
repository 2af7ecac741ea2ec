import { baseName, folderOf, foldersAbove, isBelow, joinPath } from '../../../../base/paths.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import type { DocFile, Docs } from '../../../../sync/model/docs-folder.ts'
import type { Skill, SkillFile, Standing } from '../../../../sync/model/skill.ts'
import type { Snapshot } from '../../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../../sync/model/source-id.ts'

/** The source of `resource://docs/`, and the folders of its docs and its skills in its repository. */
export interface DocsOwner {
  readonly source: SourceId
  readonly folder: string
  readonly root: string
}

/** A served document. */
export interface ServedDoc {
  readonly docs: Docs
  readonly file: SkillFile
  /** False for a file of a skill that is in no list. */
  readonly isListed: boolean
}

/**
 * Returns the documents of the owner. Other snapshots may still have docs from when their source was the owner. The
 * docs folder may contain skills: a file of a skill that is not served is not a document either.
 */
export function servedDocs({ snapshots, sources }: Catalog, owner: DocsOwner): ServedDoc[] {
  const snapshot = snapshots.find(({ source }) => source === owner.source)
  if (snapshot?.docs === undefined) return []
  const { docs } = snapshot
  const [, ...disabled] = sources.find(([source]) => source === owner.source) ?? []
  const skills = skillsAmong(docs, snapshot, new Set(disabled), owner)
  const shownAt = (path: string): Shown => shownAs(joinPath(owner.folder, path), skills, owner)
  const judged = docs.files.map((file) => ({ file, shown: shownAt(file.path) }))
  const hidden = new Set(judged.flatMap(({ file, shown }) => (shown === 'hidden' ? [file.blob] : [])))
  // A link repeats its target under another name. If an old snapshot does not record the target, the bytes are
  // compared.
  const leadsToHidden = ({ link, target, blob }: DocFile): boolean =>
    link === true && (target === undefined ? hidden.has(blob) : shownAt(target) === 'hidden')
  return judged.flatMap(({ file, shown }) =>
    shown === 'hidden' || leadsToHidden(file) ? [] : [{ docs, file, isListed: shown === 'listed' }],
  )
}

type Shown = 'listed' | 'unlisted' | 'hidden'

/**
 * The state of the skill in a folder. `excluded`: no rule of the source includes it. `page`: it is a plain document.
 */
type Became = Standing | 'disabled' | 'excluded' | 'page'

/** Returns the folders of skills, relative to the root of the repository. */
function skillsAmong(
  docs: Docs,
  { skills }: Snapshot,
  disabled: ReadonlySet<string>,
  { folder, root }: DocsOwner,
): ReadonlyMap<string, Became> {
  const became = new Map<string, Became>(
    skills.map((skill) => [joinPath(root, skill.path), disabled.has(skill.path) ? 'disabled' : becameOf(skill)]),
  )
  for (const { path } of docs.files) {
    if (baseName(path) !== 'SKILL.md') continue
    const at = folderOf(joinPath(folder, path))
    if ((at === root || isBelow(at, root)) && !became.has(at)) became.set(at, 'excluded')
  }
  return became
}

/**
 * A file that no client would read as a skill is a plain Markdown file: one named `skill.md`, or one without a
 * frontmatter.
 */
function becameOf({ standing, findings }: Skill): Became {
  const isPage = findings.some(({ rule }) => rule === 'file-name-case' || rule === 'frontmatter-missing')
  return standing === 'withheld' && isPage ? 'page' : standing
}

function shownAs(path: string, skills: ReadonlyMap<string, Became>, { folder }: DocsOwner): Shown {
  let isLeftOut = false
  for (const at of foldersAbove(path)) {
    const became = skills.get(at)
    // The state of a skill does not hide a docs folder inside it, unless an operator disabled the skill.
    const isAroundDocs = (at === folder || isBelow(folder, at)) && path !== joinPath(at, 'SKILL.md')
    if (became === undefined || (isAroundDocs && became !== 'disabled')) continue
    switch (became) {
      case 'served':
      case 'tools':
        return 'listed'
      case 'unlisted':
        return 'unlisted'
      case 'disabled':
        return 'hidden'
      case 'withheld':
      case 'excluded':
        // It may be a file of the surrounding skill.
        isLeftOut = true
        break
      case 'page':
        break
      default:
        return became satisfies never
    }
  }
  return isLeftOut ? 'hidden' : 'listed'
}
