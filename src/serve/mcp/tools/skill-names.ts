import type { Steps } from '../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../base/async/incremental.ts'
import { baseName, foldersAbove } from '../../../base/paths.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { isForModels } from '../../../sync/catalog/model-invocation.ts'
import { offeringSteps, pathIdOf } from '../../../sync/catalog/tool-catalog.ts'
import type { Offered, OfferedSkills } from '../../../sync/catalog/tool-catalog.ts'
import { isInLists } from '../../../sync/model/skill.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { decodedSegment, folderUrisAbove, readSkillUri, uriOf } from '../../../sync/model/uris/skill-uri.ts'
import { withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { foldName, MOST_NEAR, nearest, nameHint } from './similar-names.ts'
import type { NameHint } from './similar-names.ts'

/** A skill that exists but is withheld. */
export interface Withheld {
  /** The id in the form `<source>/<path>`. */
  readonly id: string
  readonly source: SourceId
  readonly skill: Skill
}

/** The names that a model may use for skills, in addition to their ids. They depend on one catalog alone. */
export interface SkillNames {
  /**
   * Returns the listed skills with exactly this name. If no skill, listed or withheld, has exactly this name, it
   * ignores case and hyphens.
   */
  called(text: string): readonly Offered[]
  /** Returns the skills that models may see and that declare exactly this name. */
  declaring(text: string): readonly Offered[]
  /** Returns the withheld skills with this id, URI or name: exact matches, else matches in any case. */
  withheld(text: string): readonly Withheld[]
  /**
   * Returns skills that models may see, at most `MOST_NEAR`: first those whose folder contains the named thing, then
   * those with similar names, the most similar first.
   */
  near(text: string): Steps<readonly Offered[]>
}

/** Returns the skill at a URI of a SKILL.md or a folder, by its served or its repository path. */
export function offeredAt(catalog: Catalog, offered: OfferedSkills, text: string): readonly Offered[] {
  const uri = documentUriIn(text)
  if (uri === undefined) return []
  const served = catalog.skills.get(uri)
  return offered.find(served === undefined ? pathIdAt(uri) : pathIdOf(served))
}

/** Builds the names in slices, once for each catalog. */
export async function skillNamesIn(catalog: Catalog): Promise<SkillNames> {
  return NAMES.ready(catalog)
}

/** Works like `skillNamesIn`, in one step, for a caller that has prepared the names. */
export function namesAtOnce(catalog: Catalog): SkillNames {
  return NAMES.of(catalog)
}

const NAMES = new IncrementalCache<Catalog, SkillNames>(naming)

function* naming(catalog: Catalog): Steps<SkillNames> {
  const offering = yield* offeringSteps(catalog)
  const { listed, forModels } = offering
  const called = yield* grouping(listed, (offered) => [offered.id, ...namesOf(offered)].map(foldName))
  const kept = yield* withholding(catalog)
  const withheld = yield* grouping(kept, (one) => [...urisOf(one), ...[one.id, ...namesOf(one)].map(foldName)])
  const told: NameHint[] = []
  for (const offered of forModels) {
    told.push(nameHint(offered))
    yield
  }
  return new Names({ catalog, offering, called, withheld, told })
}

interface Groups {
  readonly catalog: Catalog
  readonly offering: OfferedSkills
  readonly called: ReadonlyMap<string, readonly Offered[]>
  readonly withheld: ReadonlyMap<string, readonly Withheld[]>
  readonly told: readonly NameHint[]
}

class Names implements SkillNames {
  readonly #groups: Groups

  constructor(groups: Groups) {
    this.#groups = groups
  }

  called(text: string): readonly Offered[] {
    const called = this.#skillsCalled(text)
    const exact = called.filter((one) => isCalled(one, text))
    return exact.length > 0 || this.withheld(text).some((one) => isCalled(one, text)) ? exact : called
  }

  declaring(text: string): readonly Offered[] {
    return this.#skillsCalled(text).filter(
      (one) => isTold(one) && [one.name, `${one.source}/${one.name}`].includes(text),
    )
  }

  withheld(text: string): readonly Withheld[] {
    const withheld = this.#groups.withheld.get(documentUriIn(text) ?? foldName(text)) ?? []
    const exact = withheld.filter((one) => isCalled(one, text))
    return exact.length > 0 ? exact : withheld
  }

  *near(text: string): Steps<readonly Offered[]> {
    if (text.length > MOST_CHARACTERS) return []
    const path = pathIn(text)
    const holding = this.#holding(text, path)
    const alike = yield* nearest(this.#groups.told, baseName(path))
    return [...new Set([...holding, ...alike])].slice(0, MOST_NEAR)
  }

  #skillsCalled(text: string): readonly Offered[] {
    return this.#groups.called.get(foldName(text)) ?? []
  }

  /** Returns the skills at the text, else in the nearest folder above it. URIs come first, then ids and names. */
  #holding(text: string, path: string): readonly Offered[] {
    const { catalog, offering } = this.#groups
    const uri = documentUriIn(text)
    const uris = uri === undefined ? [] : [...folderUrisAbove(uri)].slice(0, MOST_FOLDERS)
    const paths = [path, ...foldersAbove(path)].filter((above) => above !== '').slice(0, MOST_FOLDERS)
    const found = [
      ...uris.map((above) => offeredAt(catalog, offering, above)),
      ...paths.map((above) => offering.find(above).concat(this.#skillsCalled(above))),
    ]
    return found.map((all) => all.filter(isTold)).find((all) => all.length > 0) ?? []
  }
}

/** A longer text is similar to nothing. */
const MOST_CHARACTERS = 4_096
const MOST_FOLDERS = 32

function isTold({ skill }: Offered): boolean {
  return isInLists(skill) && isForModels(skill)
}

function isCalled(one: Withheld | Offered, text: string): boolean {
  return one.id === text || namesOf(one).includes(text)
}

/**
 * Returns the path that a text means: of a URI, of a URI without its scheme, or of the text itself. It omits the name
 * SKILL.md.
 */
function pathIn(text: string): string {
  const uri = documentUriIn(text)
  if (uri !== undefined) return pathIdAt(uri)
  const segments = text.split('/').map(decodedSegment)
  const path = segments.includes(undefined) ? text : withHiddenEscaped(segments.join('/'))
  return path.replace(/\/SKILL\.md$/, '')
}

/** Returns the withheld skills, without those that are disabled or wait for approval. */
function* withholding({ snapshots, sources }: Catalog): Steps<readonly Withheld[]> {
  const absent = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  const withheld: Withheld[] = []
  for (const { source, skills } of snapshots) {
    for (const skill of skills) {
      if (skill.standing === 'withheld' && absent.get(source)?.has(skill.path) !== true)
        withheld.push({ id: pathIdOf({ source, skill }), source, skill })
      yield
    }
  }
  return withheld
}

type Placed = Pick<Withheld, 'source' | 'skill'>

/** Returns the folder name and the declared name, each with and without the source. */
function namesOf({ source, skill: { path, name } }: Placed): readonly string[] {
  const names = [path === '' ? source : withHiddenEscaped(baseName(path)), ...(name === undefined ? [] : [name])]
  return names.flatMap((one) => [one, `${source}/${one}`])
}

function urisOf({ source, skill: { path, servedPath = path } }: Placed): readonly string[] {
  return [path, servedPath].map((one) => uriOf(source, `${one}/SKILL.md`))
}

function* grouping<One>(all: readonly One[], keysOf: (one: One) => readonly string[]): Steps<Map<string, One[]>> {
  const groups = new Map<string, One[]>()
  for (const one of all) {
    for (const key of new Set(keysOf(one))) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [one])
      else group.push(one)
    }
    yield
  }
  return groups
}

/** Returns the URI of a SKILL.md for that URI or the URI of its folder; `undefined` for any other text. */
function documentUriIn(text: string): string | undefined {
  if (!text.startsWith('skill://')) return undefined
  const uri = readSkillUri(text)
  if (!uri.ok) return undefined
  return uri.canonical.endsWith('/SKILL.md') ? uri.canonical : `${uri.canonical}/SKILL.md`
}

function pathIdAt(documentUri: string): string {
  const path = documentUri.slice('skill://'.length, -'/SKILL.md'.length)
  return withHiddenEscaped(path.split('/').map(decodeURIComponent).join('/'))
}
