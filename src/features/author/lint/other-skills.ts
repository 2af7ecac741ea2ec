import { foldersAbove, joinPath, relativeTo } from '../../../base/paths.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import { skillUri } from '../../../sync/model/uris/skill-uri.ts'

/** The skills that are validated together, as targets of links that lead out of one of them. */
export class OtherSkills {
  readonly #skills: ReadonlyMap<string, Placed>

  constructor(skills: readonly Skill[]) {
    const placed = skills.flatMap(({ path, servedPath, standing, files }) =>
      servedPath === undefined || standing === 'withheld' ? [] : [[path, new Placed(servedPath, files)] as const],
    )
    this.#skills = new Map(placed)
  }

  /**
   * The served path of a file or a folder, given its path from the top of the source. `undefined` if no served skill
   * has it.
   */
  servedPathOf(path: string): string | undefined {
    for (const folder of [path, ...foldersAbove(path)]) {
      const skill = this.#skills.get(folder)
      if (skill?.has(relativeTo(folder, path)) === true) return joinPath(skill.servedPath, relativeTo(folder, path))
    }
    return undefined
  }
}

/** A URI on a server that names the source `SOURCE`. */
export function uriOfSource(servedPath: string): string {
  return skillUri(['SOURCE', ...servedPath.split('/')])
}

class Placed {
  readonly servedPath: string
  readonly #files: Skill['files']
  #paths: ReadonlySet<string> | undefined

  constructor(servedPath: string, files: Skill['files']) {
    this.servedPath = servedPath
    this.#files = files
  }

  /** True for a file or a folder of the skill. The first call makes the set of paths. */
  has(path: string): boolean {
    this.#paths ??= new Set(this.#files.flatMap((file) => [file.path, ...foldersAbove(file.path)]))
    return this.#paths.has(path)
  }
}
