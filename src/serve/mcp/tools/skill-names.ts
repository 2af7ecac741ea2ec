import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { withHiddenEscaped } from '../../../sync/skill-md/hidden-unicode.ts'
import { MadeInSteps } from '../../../base/incremental.ts'
import { isForModels } from '../../../sync/catalog/model-invocation.ts'
import { offeringSteps, pathIdOf } from '../../../sync/catalog/tool-catalog.ts'
import type { Offered, OfferedSkills } from '../../../sync/catalog/tool-catalog.ts'
import { baseName, foldersAbove } from '../../../base/paths.ts'
import { decodedSegment, folderUrisAbove, readSkillUri, uriOf } from '../../../sync/model/skill-uri.ts'
import { isInLists } from '../../../sync/model/skill.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Steps } from '../../../base/cooperative.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { folded, MOST_NEAR, nearest, toldOf } from './similar-names.ts'
import type { Told } from './similar-names.ts'

/** A skill that is there and not given. */
export interface Withheld {
  /** `<source>/<path>`. */
  readonly id: string
  readonly source: SourceId
  readonly skill: Skill
}

/** The names by which a model may ask for skills, besides their ids. All of them follow from one catalog. */
export interface SkillNames {
  /** Skills of the lists that are called so to the letter; where none is, withheld ones included, those in any case and with any hyphens. */
  called(text: string): readonly Offered[]
  /** Skills that models are told of and that declare this very name. */
  declaring(text: string): readonly Offered[]
  /** Skills that are withheld and have this id, URI or name: to the letter, else in any case. */
  withheld(text: string): readonly Withheld[]
  /**
   * Skills that models are told of, `MOST_NEAR` at most: the one whose folder holds what the text names, then those that have a name
   * near it, the nearest first.
   */
  near(text: string): Steps<readonly Offered[]>
}

/** The skill at a URI, that of its SKILL.md or of its folder, as it is served or where it truly lies. */
export function offeredAt(catalog: Catalog, offered: OfferedSkills, text: string): readonly Offered[] {
  const uri = documentUriIn(text)
  if (uri === undefined) return []
  const served = catalog.skills.get(uri)
  return offered.find(served === undefined ? pathIdAt(uri) : pathIdOf(served))
}

/** Makes the names in slices, once for each catalog. */
export async function namesIn(catalog: Catalog): Promise<SkillNames> {
  return NAMES.ready(catalog)
}

/** The same at once, for a caller that made them ready before. */
export function namesAtOnce(catalog: Catalog): SkillNames {
  return NAMES.of(catalog)
}

const NAMES = new MadeInSteps<Catalog, SkillNames>(naming)

function* naming(catalog: Catalog): Steps<SkillNames> {
  const offering = yield* offeringSteps(catalog)
  const { listed, forModels } = offering
  const called = yield* grouping(listed, (offered) => [offered.id, ...namesOf(offered)].map(folded))
  const kept = yield* withholding(catalog)
  const withheld = yield* grouping(kept, (one) => [...urisOf(one), ...[one.id, ...namesOf(one)].map(folded)])
  const told: Told[] = []
  for (const offered of forModels) {
    told.push(toldOf(offered))
    yield
  }
  return new Names({ catalog, offering, called, withheld, told })
}

interface Groups {
  readonly catalog: Catalog
  readonly offering: OfferedSkills
  readonly called: ReadonlyMap<string, readonly Offered[]>
  readonly withheld: ReadonlyMap<string, readonly Withheld[]>
  readonly told: readonly Told[]
}

class Names implements SkillNames {
  readonly #groups: Groups

  constructor(groups: Groups) {
    this.#groups = groups
  }

  called(text: string): readonly Offered[] {
    const called = this.#called(text)
    const exact = called.filter((one) => isCalled(one, text))
    return exact.length > 0 || this.withheld(text).some((one) => isCalled(one, text)) ? exact : called
  }

  declaring(text: string): readonly Offered[] {
    return this.#called(text).filter((one) => isTold(one) && [one.name, `${one.source}/${one.name}`].includes(text))
  }

  withheld(text: string): readonly Withheld[] {
    const withheld = this.#groups.withheld.get(documentUriIn(text) ?? folded(text)) ?? []
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

  #called(text: string): readonly Offered[] {
    return this.#groups.called.get(folded(text)) ?? []
  }

  /** The skills at the text, else in the nearest folder above it: as URIs spell it, else as ids and names do. */
  #holding(text: string, path: string): readonly Offered[] {
    const { catalog, offering } = this.#groups
    const uri = documentUriIn(text)
    const uris = uri === undefined ? [] : [...folderUrisAbove(uri)].slice(0, MOST_FOLDERS)
    const paths = [path, ...foldersAbove(path)].filter((above) => above !== '').slice(0, MOST_FOLDERS)
    const found = [
      ...uris.map((above) => offeredAt(catalog, offering, above)),
      ...paths.map((above) => offering.find(above).concat(this.#called(above))),
    ]
    return found.map((all) => all.filter(isTold)).find((all) => all.length > 0) ?? []
  }
}

/** A longer text is near nothing. */
const MOST_CHARACTERS = 4_096
const MOST_FOLDERS = 32

function isTold({ skill }: Offered): boolean {
  return isInLists(skill) && isForModels(skill)
}

function isCalled(one: Withheld | Offered, text: string): boolean {
  return one.id === text || namesOf(one).includes(text)
}

/** The path that a text means: of a URI, of one without its scheme, or as it is, without the name of a SKILL.md. */
function pathIn(text: string): string {
  const uri = documentUriIn(text)
  if (uri !== undefined) return pathIdAt(uri)
  const segments = text.split('/').map(decodedSegment)
  const path = segments.includes(undefined) ? text : withHiddenEscaped(segments.join('/'))
  return path.replace(/\/SKILL\.md$/, '')
}

/** The withheld skills, without those that are disabled or wait for approval. */
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

/** By its folder and as declared, each alone and of its source. */
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

/** The URI of a SKILL.md, given that or the one of its folder; undefined for a text that is no such URI. */
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
