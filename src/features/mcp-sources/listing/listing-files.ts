import { isObject } from '../../../base/json-object.ts'
import { joinPath } from '../../../base/paths.ts'
import { isSize, sha256In } from '../../../sync/model/declared-digest.ts'
import { DeclaredTree } from '../../../sync/model/declared-tree.ts'
import { inPathOrder } from '../../../sync/model/digest.ts'
import { tooManyFiles } from '../../../sync/model/skill.ts'
import type { SkillFile } from '../../../sync/model/skill.ts'
import { pathOf, pathsBeside, plainUpstreamUri, readUpstreamUri } from '../../../sync/model/uris/upstream-uri.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import type { SkillDiagnostic, SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { nameProblem } from '../../../sync/skill/skill-path.ts'
import type { SurveyLimits } from '../../../sync/survey/read-skill.ts'

/** The files that an entry declares, or the first reason why the skill cannot be served whole. */
export type FileSet =
  | {
      readonly ok: true
      readonly files: readonly SkillFile[]
      readonly size: number
      readonly uris: Readonly<Record<string, string>> | undefined
    }
  | { readonly ok: false; readonly finding: SkillDiagnostic }

/** Reads the declared files. `path` is the path of the skill. A part of a set is never served. */
export function fileSetOf(
  { uri, resources }: { readonly uri: string; readonly resources?: unknown },
  path: string,
  { skill: limits }: SurveyLimits,
): FileSet {
  const refused = (rule: SkillCode, message: string): FileSet => ({ ok: false, finding: { rule, path, message } })
  if (resources === 'dynamic')
    return refused(
      'not-verifiable',
      'The server declares the files as dynamic, so they cannot be verified; see `unverifiable` in docs/sources.md',
    )
  if (!Array.isArray(resources)) return refused('entry-refused', 'The entry has no list of its files')
  if (resources.length > limits.files) {
    const named = resources.length > MOST_NAMED ? [] : pathsBeside(uri, resources)
    const count = tooManyFiles(named, limits.files, String(resources.length))
    return refused('limit-files', `The skill has ${count}`)
  }
  const set = new DeclaredSet(path)
  for (const resource of resources) {
    const finding = set.add(resource)
    if (finding !== undefined) return { ok: false, finding }
  }
  if (!set.has(uri)) return refused('entry-refused', 'The list of its files does not name SKILL.md itself')
  if (set.size > limits.bytes)
    return refused('limit-bytes', `The files hold ${set.size} bytes, over the limit of ${limits.bytes}`)
  const { size, uris } = set
  return { ok: true, files: inPathOrder(set.files), size, uris: Object.keys(uris).length === 0 ? undefined : uris }
}

/** The longest list of which the fullest folder is named: a longer one is not worth the time of the thread. */
const MOST_NAMED = 10_000

class DeclaredSet {
  readonly files: SkillFile[] = []
  /** URIs by path, for files whose URI differs from our spelling. */
  readonly uris: Record<string, string> = Object.create(null)
  size = 0
  readonly #skill: string
  readonly #met = new Set<string>()
  readonly #tree = new DeclaredTree()

  constructor(skill: string) {
    this.#skill = skill
  }

  /** True if the set has a file with this URI, such as that of the entry itself. */
  has(uri: string): boolean {
    return this.#met.has(uri)
  }

  /** Adds a file. Returns the reason why the set cannot be taken with it. */
  add(resource: unknown): SkillDiagnostic | undefined {
    const { uri, digest, size }: Readonly<Record<string, unknown>> = isObject(resource) ? resource : {}
    if (typeof uri !== 'string') return this.#refusal('A file in its list has no uri')
    const path = this.#pathOf(uri)
    if (typeof path !== 'string') return path
    const sha256 = sha256In(digest)
    if (sha256 === undefined)
      return this.#refusal(
        `The digest of "${path}" is ${shownValue(digest)}, and not sha256: with 64 digits of 0-9 and a-f`,
      )
    if (size === undefined)
      return this.#finding('size-unknown', `The server does not declare the size of "${path}", so it cannot be listed`)
    if (!isSize(size)) return this.#refusal(`The size of "${path}" is ${shownValue(size)}, and no number of bytes`)
    const problem = nameProblem(joinPath(this.#skill, path))
    if (problem !== undefined) return this.#finding('path-refused', `The path "${path}" ${problem}`)
    if (this.#met.has(uri)) return this.#refusal(`The file ${shownValue(uri)} is listed twice`)
    const twin = this.#tree.add(path)
    if (twin !== undefined)
      return this.#finding(
        'path-collision',
        `The path "${path}" meets "${twin}" where case or Unicode form does not count`,
      )
    this.#met.add(uri)
    this.#take(path, uri, size)
    this.files.push({ path, executable: false, blob: sha256, size, sha256 })
    return undefined
  }

  #take(path: string, uri: string, size: number): void {
    this.size += size
    if (plainUpstreamUri(joinPath(this.#skill, path)) !== uri) this.uris[path] = uri
  }

  /**
   * The path relative to the skill. Compares by segments, so that a neighbor whose name begins alike does not match.
   */
  #pathOf(uri: string): string | SkillDiagnostic {
    const read = readUpstreamUri(uri)
    if (!read.ok) return this.#refusal(`The file ${shownValue(uri)} is refused: ${read.why}`)
    const path = pathOf(read)
    const isInside = path.startsWith(`${this.#skill}/`)
    return isInside
      ? path.slice(this.#skill.length + 1)
      : this.#refusal(`The file ${shownValue(uri)} is outside the skill`)
  }

  #refusal(message: string): SkillDiagnostic {
    return this.#finding('entry-refused', message)
  }

  #finding(rule: SkillCode, message: string): SkillDiagnostic {
    return { rule, path: this.#skill, message }
  }
}
