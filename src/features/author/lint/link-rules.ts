import { folderOf, foldedPath, foldersAbove, joinPath } from '../../../base/paths.ts'
import { isAbsolute, linkedPath, resolveInSkill } from '../../../sync/skill/linked-path.ts'
import { isMarkdown } from '../../../sync/skill/markdown/markdown-file.ts'
import { linksIn } from '../../../sync/skill/markdown/markdown-links.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { Lines } from './lines.ts'
import type { Authored } from './lint-input.ts'
import { uriOfSource } from './other-skills.ts'
import type { OtherSkills } from './other-skills.ts'

/** Finds links of the skill's documents that lead nowhere after the skill is taken out of its original folder. */
export function linkDiagnostics(skill: Authored, elsewhere: OtherSkills): LintDiagnostic[] {
  if (skill.texts.size === 0) return []
  const there = new Files(skill.files.map(({ path }) => path))
  // Files in assets are copied into the output of the skill: their links are meant for that place.
  const documents = [...skill.texts].filter(([path]) => isMarkdown(path) && !path.startsWith('assets/'))
  return documents.flatMap(([path, text]) => diagnosticsOf({ skill, path, text }, there, elsewhere))
}

interface Linking {
  readonly skill: Authored
  readonly path: string
  readonly text: string
}

function diagnosticsOf({ skill, path, text }: Linking, there: Files, elsewhere: OtherSkills): LintDiagnostic[] {
  const own = path === skill.documentName ? skill.document : undefined
  const diagnostics: LintDiagnostic[] = []
  let lines = own?.lines
  for (const { target, offset } of linksIn(text, own?.bodyStart ?? 0)) {
    const fault = faultOf(target, path, { there, outside: outsideOf(skill, path, elsewhere) })
    if (fault === undefined) continue
    lines ??= new Lines(text)
    diagnostics.push({ ...fault, path: joinPath(skill.path, path), place: lines.at(offset) })
    // Diagnostics above the maximum that is shown for one file need not be found.
    if (diagnostics.length > MOST) break
  }
  return diagnostics
}

const MOST = 1_000

/** The targets against which links are checked. */
interface Around {
  readonly there: Files
  /** Describes the target of a link that leads out of the skill. */
  readonly outside: (path: string) => string
}

function faultOf(
  target: string,
  from: string,
  { there, outside }: Around,
): Pick<LintDiagnostic, 'code' | 'message'> | undefined {
  const path = linkedPath(target)
  if (path === undefined) return undefined
  const shown = JSON.stringify(target.length <= 200 ? target : `${target.slice(0, 200).toWellFormed()}…`)
  const inside = isAbsolute(path) ? undefined : resolveInSkill(folderOf(from), path)
  if (inside === undefined) {
    const where = isAbsolute(path) ? '' : outside(path)
    return { code: 'link-leaves-skill', message: `The link to ${shown} leads out of the skill${where}` }
  }
  if (there.has(inside)) return undefined
  const twin = there.twinOf(inside)
  const hint = twin === undefined ? '' : `; "${twin}" is there`
  return { code: 'link-target-missing', message: `The link to ${shown} leads to no file of the skill${hint}` }
}

/**
 * A relative link leads from one URI of a server to another as it does on the disk, unless one of the two is renamed.
 */
function outsideOf({ path: folder }: Authored, from: string, elsewhere: OtherSkills): (path: string) => string {
  return (path) => {
    const at = resolveInSkill(joinPath(folder, folderOf(from)), path)
    const served = at === undefined ? undefined : elsewhere.servedPathOf(at)
    if (served === undefined) return ''
    const base = elsewhere.servedPathOf(joinPath(folder, from))
    const isThere = base !== undefined && resolveInSkill(folderOf(base), path) === served
    const uri = JSON.stringify(uriOfSource(served))
    return isThere ? `: a server has it there, at ${uri}` : `: a server has it at ${uri}, where the link does not lead`
  }
}

/** The files of a skill and the folders above them. */
class Files {
  readonly #paths = new Set<string>([''])
  readonly #folded = new Map<string, string>()

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      for (const at of [path, ...foldersAbove(path)]) {
        this.#paths.add(at)
        this.#folded.set(foldedPath(at), at)
      }
    }
  }

  has(path: string): boolean {
    return this.#paths.has(path)
  }

  /** The path that the link probably means, if only case or Unicode form differs. */
  twinOf(path: string): string | undefined {
    return this.#folded.get(foldedPath(path))
  }
}
