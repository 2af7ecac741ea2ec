import { sorting } from '../../base/async/cooperative.ts'
import type { Steps } from '../../base/async/cooperative.ts'
import { baseName, foldedPath, folderOf, foldersAbove, joinPath, relativeTo } from '../../base/paths.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { isSkillName } from '../skill/skill-name.ts'
import { comparePaths } from './digest.ts'
import type { Skill } from './skill.ts'

/** The placement settings of a source. */
export interface PlacementRules {
  readonly names: 'remap' | 'exact'
  readonly nested: 'as-skills' | 'as-files'
  /** True if a skill at this path is kept out of lists. */
  isUnlisted(path: string): boolean
}

/**
 * Gives every skill the path at which it is served. The last segment is its name: a folder with another name is
 * renamed, for everything below it. If two skills would share a path, the one whose folder matches keeps it, else the
 * first by path. The other is offered by tools only, and withheld if it is a copy. The result depends on all skills, so
 * it is computed again for skills that are otherwise reused unread.
 */
export function* placing(skills: readonly Skill[], rules: PlacementRules): Steps<readonly Skill[]> {
  const unjudged: Skill[] = []
  for (const skill of skills) {
    unjudged.push(withoutPlacement(skill))
    yield
  }
  const placement = yield* Placement.claiming(unjudged, rules)
  const placed: Skill[] = []
  for (const [index, skill] of skills.entries()) {
    placed.push(asBefore(skill, placement.place(unjudged[index] ?? skill)))
    yield
  }
  return yield* sorting(placed, (a, b) => comparePaths(a.path, b.path))
}

/** Returns the old object if nothing changed, so that values derived from it stay valid. */
function asBefore(before: Skill, after: Skill): Skill {
  const isSame = before.standing === after.standing && before.servedPath === after.servedPath
  return isSame && before.isUnlisted === after.isUnlisted && areSame(before.findings, after.findings) ? before : after
}

function areSame(before: readonly SkillDiagnostic[], after: readonly SkillDiagnostic[]): boolean {
  const isSame = ({ rule, path, message }: SkillDiagnostic, other: SkillDiagnostic | undefined): boolean =>
    rule === other?.rule && path === other.path && message === other.message
  return before.length === after.length && before.every((finding, index) => isSame(finding, after[index]))
}

/**
 * The skills that a neighbor keeps out of service. Their files are not stored, so they are read again when the neighbor
 * goes. Nested skills are not among them: they are stored as files of the outer skill.
 */
export function decidedByNeighbours(skills: readonly Skill[]): string[] {
  return skills
    .filter(({ standing, findings }) => standing === 'withheld' && findings.some(({ rule }) => rule === 'name-clash'))
    .map(({ path }) => path)
}

const PLACEMENT_RULES: ReadonlySet<string> = new Set(['name-unlike-folder', 'name-clash', 'nested-skill'])

/** The skill without its previous placement. Placement judges only skills that could be served. */
export function withoutPlacement(skill: Skill): Skill {
  const isJudged = skill.findings.some(({ rule }) => PLACEMENT_RULES.has(rule))
  if (!isJudged && skill.isUnlisted === undefined) return skill
  const { isUnlisted: _isUnlisted, ...rest } = skill
  if (!isJudged) return rest
  const findings = skill.findings.filter(({ rule }) => !PLACEMENT_RULES.has(rule))
  return { ...rest, standing: 'served', findings, servedPath: undefined }
}

function isServable(skill: Skill): boolean {
  return skill.standing === 'served' || skill.standing === 'unlisted'
}

class Placement {
  readonly #rules: PlacementRules
  /** Renamed folders by true path. Read while nested skills are placed, so parents come first. */
  readonly #renamed = new Map<string, string>()
  /** The owner of each served path. The key is the path as a disk sees it that folds case and Unicode forms. */
  readonly #owners = new Map<string, Skill>()
  /** True folders of skills that have a path. */
  readonly #claimed = new Set<string>()
  /** True paths that are in use: nothing is renamed onto them. */
  readonly #taken: ReadonlySet<string>

  private constructor(rules: PlacementRules, taken: ReadonlySet<string>) {
    this.#rules = rules
    this.#taken = taken
  }

  /** Makes the placement in which all skills have claimed their paths. */
  static *claiming(skills: readonly Skill[], rules: PlacementRules): Steps<Placement> {
    const servable = skills.filter(isServable)
    const taken = servable.every(folderMatches) ? new Set<string>() : yield* takingPaths(skills)
    const placement = new Placement(rules, taken)
    for (const skill of yield* inOrderOfPlacement(servable)) {
      placement.#claim(skill)
      yield
    }
    return placement
  }

  place(skill: Skill): Skill {
    const { name, standing } = skill
    if (standing === 'tools') return this.#forTools(skill)
    if (name === undefined || !isSkillName(name)) return placedAt(skill, undefined, standing)
    const servedPath = this.#servedPathOf(skill)
    // Withheld for another reason: the skill keeps a path, so that a request for it gets that reason.
    if (!isServable(skill)) return placedAt(skill, servedPath, standing)
    const outer = this.#outerOf(skill)
    if (outer !== undefined)
      return { ...skill, standing: 'withheld', servedPath, findings: [...skill.findings, nestedIn(skill, outer)] }
    if (this.#owners.get(foldedPath(servedPath))?.path !== skill.path) return this.#displace(skill, servedPath)
    const renamed =
      folderMatches(skill) || skill.path === '' ? [] : [unlikeFolder(skill, `is served as "${servedPath}"`)]
    return placedAt(skill, servedPath, this.#rules.isUnlisted(skill.path) ? 'unlisted' : 'served', renamed)
  }

  /** The folder of the outermost skill that contains this one; `undefined` if this one is a separate skill. */
  #outerOf({ path }: Skill): string | undefined {
    if (this.#rules.nested === 'as-skills') return undefined
    return [...foldersAbove(path)].findLast((above) => this.#claimed.has(above))
  }

  #claim(skill: Skill): void {
    if (this.#outerOf(skill) !== undefined) return
    const servedPath = this.#servedPathOf(skill)
    const key = foldedPath(servedPath)
    if (this.#owners.has(key)) return
    if (!folderMatches(skill)) {
      if (skill.path !== '' && this.#rules.names === 'exact') return
      if (this.#taken.has(servedPath) || this.#taken.has(joinPath(folderOf(skill.path), skill.name ?? ''))) return
      if (skill.path !== '') this.#renamed.set(skill.path, servedPath)
    }
    this.#owners.set(key, skill)
    this.#claimed.add(skill.path)
  }

  #servedPathOf(skill: Skill): string {
    if (this.#renamed.size === 0 && folderMatches(skill)) return skill.path
    const name = skill.name ?? baseName(skill.path)
    return skill.path === '' ? name : joinPath(servedPathOf(folderOf(skill.path), this.#renamed), name)
  }

  /**
   * Places a skill that has no path of its own. The content of a copy is available from the skill that has the path.
   */
  #displace(skill: Skill, servedPath: string): Skill {
    const isInexact = this.#rules.names === 'exact' && skill.path !== '' && !folderMatches(skill)
    const owner = this.#owners.get(foldedPath(servedPath))
    const isCopy = owner !== undefined && owner.digest === skill.digest
    if (isInexact || isCopy) {
      const finding = isInexact ? unlikeFolder(skill, 'is withheld') : copyOf(skill, servedPath, owner)
      return { ...skill, standing: 'withheld', servedPath, findings: [...skill.findings, finding] }
    }
    return this.#forTools({ ...skill, findings: [...skill.findings, clash(skill, servedPath, owner?.path)] })
  }

  /** A path that is kept out of lists is kept out of the lists of the tools too. */
  #forTools(skill: Skill): Skill {
    const placed = placedAt(skill, undefined, 'tools')
    return this.#rules.isUnlisted(skill.path) ? { ...placed, isUnlisted: true } : placed
  }
}

/** Returns the same object in the common case: the same place, and no findings. */
function placedAt(
  skill: Skill,
  servedPath: string | undefined,
  standing: Skill['standing'],
  findings: readonly SkillDiagnostic[] = [],
): Skill {
  if (skill.servedPath === servedPath && skill.standing === standing && findings.length === 0) return skill
  return { ...skill, standing, servedPath, findings: [...skill.findings, ...findings] }
}

/** The served path of a true path, given the renamed folders. */
export function servedPathOf(path: string, renamed: ReadonlyMap<string, string>): string {
  if (renamed.size === 0) return path
  const own = renamed.get(path)
  if (own !== undefined) return own
  for (const above of foldersAbove(path)) {
    const served = renamed.get(above)
    if (served !== undefined) return joinPath(served, relativeTo(above, path))
  }
  return path
}

/** The renamed folders of skills that were placed: true path to served path. */
export function renamedFolders(skills: readonly Skill[]): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>()
  for (const skill of skills) {
    if (skill.servedPath === undefined || !isServable(skill) || skill.path === '' || folderMatches(skill)) continue
    renamed.set(skill.path, skill.servedPath)
  }
  return renamed
}

/**
 * Orders parents before children; on one level, skills whose folder matches first, earlier versions last, then by path.
 * The root is on the first level.
 */
function* inOrderOfPlacement(skills: readonly Skill[]): Steps<readonly Skill[]> {
  // Computed once per skill: most are compared a dozen times.
  const ranked = skills.map((skill) => ({ skill, depth: depthOf(skill), rank: rankOf(skill) }))
  yield
  const ordered = yield* sorting(
    ranked,
    (a, b) => a.depth - b.depth || a.rank - b.rank || comparePaths(a.skill.path, b.skill.path),
  )
  return ordered.map(({ skill }) => skill)
}

/** An earlier version of a skill takes no path from the skills that the commit has. */
function rankOf(skill: Skill): number {
  if (skill.kept !== undefined) return 2
  return folderMatches(skill) ? 0 : 1
}

function depthOf({ path }: Skill): number {
  let depth = 1
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) depth += 1
  return depth
}

function* takingPaths(skills: readonly Skill[]): Steps<ReadonlySet<string>> {
  const taken = new Set<string>()
  for (const skill of skills) {
    yield
    if (skill.path === '') continue // The root's files are served below its own name, where they block no other path.
    for (const path of [skill.path, ...skill.files.map((file) => joinPath(skill.path, file.path))]) {
      taken.add(path)
      for (const above of foldersAbove(path)) {
        if (taken.has(above)) break
        taken.add(above)
      }
    }
  }
  return taken
}

function folderMatches(skill: Skill): boolean {
  return skill.path !== '' && baseName(skill.path) === skill.name
}

function nestedIn(skill: Skill, outer: string): SkillDiagnostic {
  const message = `The skill is inside the skill in "${outer}", and nested is as-files: its files belong only to that skill`
  return { rule: 'nested-skill', path: skill.path, message }
}

function unlikeFolder(skill: Skill, what: string): SkillDiagnostic {
  const message = `The name "${skill.name}" is not the name of its folder "${baseName(skill.path)}"; the skill ${what}`
  return { rule: 'name-unlike-folder', path: skill.path, message }
}

function copyOf(skill: Skill, servedPath: string, owner: Skill | undefined): SkillDiagnostic {
  return clashFinding(skill, servedPath, owner?.path, 'which has the same files; remove one of the two')
}

function clash(skill: Skill, servedPath: string, owner: string | undefined): SkillDiagnostic {
  const folder = baseName(skill.path)
  const isName = isSkillName(folder)
  const forTools = isName ? `offered by tools, and to links and installers as "${folder}"` : 'offered only by tools'
  const canTakeFolder = isName && skill.name !== folder
  const mend = canTakeFolder ? `; give it the name "${folder}", or rename one of the two` : '; rename one of the two'
  return clashFinding(skill, servedPath, owner, `so this one is ${forTools}${mend}`)
}

function clashFinding(skill: Skill, servedPath: string, owner: string | undefined, then: string): SkillDiagnostic {
  const other = owner === undefined ? 'a folder of that path' : `the skill in "${owner}"`
  const message = `The name "${skill.name}" leads to "${servedPath}", whose URI belongs to ${other} (case and Unicode form do not count), ${then}`
  return { rule: 'name-clash', path: skill.path, message }
}
