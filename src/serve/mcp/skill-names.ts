import type { Catalog } from '../../sync/model/catalog.ts'
import { editDistance } from '../../sync/model/edit-distance.ts'
import { withHiddenEscaped } from '../../sync/model/hidden-unicode.ts'
import { MadeInSteps } from '../../sync/model/made-in-steps.ts'
import { offeringSteps, pathIdOf } from '../../sync/model/offered.ts'
import type { Offered, OfferedSkills } from '../../sync/model/offered.ts'
import { baseName } from '../../sync/model/paths.ts'
import { readSkillUri, uriOf } from '../../sync/model/skill-uri.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Steps } from '../../sync/model/slices.ts'
import type { SourceId } from '../../sync/model/source-id.ts'

/** A skill that is there and not given. */
export interface Withheld {
  /** `<source>/<path>`. */
  readonly id: string
  readonly source: SourceId
  readonly skill: Skill
}

/** The names by which a model may ask for skills, besides their ids. All of them follow from one catalog. */
export interface SkillNames {
  /** Skills of the lists that are called so, in any case, and with spaces, underscores or hyphens. */
  called(text: string): readonly Offered[]
  /** Skills that are withheld and have this id, URI or name. */
  withheld(text: string): readonly Withheld[]
  /** Skills that models are told of and that have a name near the text: the nearest first, `MOST_NEAR` at most. */
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
  const { listed, forModels } = yield* offeringSteps(catalog)
  const called = yield* grouping(listed, (offered) => [offered.id, ...namesOf(offered)].map(folded))
  const kept = yield* withholding(catalog)
  const withheld = yield* grouping(kept, (one) => [...urisOf(one), ...[one.id, ...namesOf(one)].map(folded)])
  const told: Told[] = []
  for (const offered of forModels) {
    const names = new Set([offered.name, baseName(offered.id)].map(folded))
    told.push({ offered, names: [...names].map(spelt) })
    yield
  }
  return {
    called: (text) => called.get(folded(text)) ?? [],
    withheld: (text) => withheld.get(documentUriIn(text) ?? folded(text)) ?? [],
    near: (text) => nearest(told, text),
  }
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

function folded(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .trim()
    .replaceAll(/[\s_-]+/g, '-')
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

interface Told {
  readonly offered: Offered
  readonly names: readonly Spelt[]
}

/** A folded text. */
interface Spelt {
  readonly text: string
  /** A bit for each character that it has: texts that differ in many are not compared any further. */
  readonly characters: number
}

function spelt(text: string): Spelt {
  let characters = 0
  for (let at = 0; at < text.length; at += 1) characters |= 1 << (text.charCodeAt(at) & 31)
  return { text, characters }
}

interface Ranked {
  readonly offered: Offered
  readonly rank: number
}

const MOST_NEAR = 5

function* nearest(told: readonly Told[], text: string): Steps<readonly Offered[]> {
  const wanted = spelt(folded(baseName((documentUriIn(text) ?? text).replace(/\/SKILL\.md$/, ''))))
  let best: readonly Ranked[] = []
  if (wanted.text.length < LEAST_CHARACTERS || wanted.text.length > MOST_CHARACTERS) return []
  for (const { offered, names } of told) {
    const rank = Math.min(...names.map((name) => rankOf(name, wanted)))
    if (rank < (best[MOST_NEAR - 1]?.rank ?? TOO_FAR))
      best = [...best, { offered, rank }].toSorted((a, b) => a.rank - b.rank).slice(0, MOST_NEAR)
    yield
  }
  return best.map(({ offered }) => offered)
}

/** Fewer match anything, and more are no name. */
const LEAST_CHARACTERS = 3
const MOST_CHARACTERS = 100

/** A few slips of the keyboard come first, then names with the text in them and names in the text, by words: those that add the least. */
function rankOf(name: Spelt, wanted: Spelt): number {
  const slips = slipsBetween(name, wanted)
  if (slips <= Math.min(MOST_SLIPS, Math.floor(wanted.text.length / 3))) return slips
  const [shorter, longer] = name.text.length < wanted.text.length ? [name, wanted] : [wanted, name]
  if (shorter.text.length < LEAST_CHARACTERS || (shorter.characters & ~longer.characters) !== 0) return TOO_FAR
  const isPart =
    shorter === wanted ? `-${name.text}`.includes(`-${wanted.text}`) : `-${wanted.text}-`.includes(`-${name.text}-`)
  return isPart ? MOST_SLIPS + longer.text.length - shorter.text.length : TOO_FAR
}

function slipsBetween(name: Spelt, wanted: Spelt): number {
  if (Math.abs(name.text.length - wanted.text.length) > MOST_SLIPS) return TOO_FAR
  // A slip puts one character in another's place at the most.
  if (bitsIn(name.characters ^ wanted.characters) > 2 * MOST_SLIPS) return TOO_FAR
  return editDistance(name.text, wanted.text)
}

function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1
  return count
}

const MOST_SLIPS = 2
const TOO_FAR = Number.POSITIVE_INFINITY
