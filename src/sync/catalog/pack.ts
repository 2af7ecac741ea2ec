import { createHash } from 'node:crypto'
import { matcher, nameMatcher } from '../../base/globs.ts'
import { foldersAbove, isBelow, relativeTo } from '../../base/paths.ts'
import { setDigestOf } from '../model/decisions/lock.ts'
import type { Lock, LockedPack, LockedSkill, Mismatch } from '../model/decisions/lock.ts'
import { comparePaths } from '../model/digest.ts'
import { groupedIn } from '../model/marketplace.ts'
import type { Marketplace } from '../model/marketplace.ts'
import { isLockable } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { tagsOf } from './tags.ts'

/** A named selection of skills across sources, as the operator wrote it. */
export interface Pack {
  /** The last segment of its endpoint. */
  readonly id: string
  /** Its purpose. A client that sees only packs gets this instead of the server's instructions. */
  readonly description: string | undefined
  /** Skills that match one of these belong to it, unless `exclude` matches. */
  readonly include: readonly PackSelection[]
  /** Skills that match one of these do not belong to it. */
  readonly exclude: readonly PackSelection[]
}

/** Conditions on a skill. All that are given must hold. */
export interface PackSelection {
  /** A glob over source ids. */
  readonly source?: string
  /** A glob over skill paths. */
  readonly path?: string
  /** A glob over skill names, as declared. */
  readonly name?: string
  /** Compared without regard to case. */
  readonly tag?: string
  /** A glob over the plugins of the source's marketplace. */
  readonly plugin?: string
}

/**
 * The skills of a snapshot that belong to the pack. A skill whose SKILL.md is among the files of a chosen one comes
 * with it. A skill that contains files of an excluded one is left out: it cannot be delivered without those bytes.
 */
export function packedIn(snapshot: PackableSnapshot, pack: Pack): ReadonlySet<Skill> {
  const isIncluded = fitting(pack.include, snapshot, 'as-declared')
  const isExcluded = fitting(pack.exclude, snapshot, 'as-it-may-be')
  const holdersOf = holdersIn(snapshot.skills)
  const excluded = snapshot.skills.filter(isExcluded)
  const barred = new Set([...excluded, ...excluded.flatMap((skill) => holdersOf(skill, 'any-file'))])
  const chosen = new Set(snapshot.skills.filter((skill) => isIncluded(skill) && !barred.has(skill)))
  return new Set(
    snapshot.skills.filter(
      (skill) => chosen.has(skill) || holdersOf(skill, 'document').some((holder) => chosen.has(holder)),
    ),
  )
}

type PackableSnapshot = Pick<Snapshot, 'source' | 'skills' | 'marketplace'>

/** Finds the skills whose files include the SKILL.md of another, or any file from its folder. */
function holdersIn(skills: readonly Skill[]): (skill: Skill, what: 'document' | 'any-file') => readonly Skill[] {
  const byPath = new Map(skills.map((skill) => [skill.path, skill]))
  const pathsOf = new Map<Skill, ReadonlySet<string>>()
  const isHeld = (holder: Skill, folder: string, what: 'document' | 'any-file'): boolean => {
    if (what === 'any-file') return holder.files.some(({ path }) => isBelow(path, folder))
    const paths = pathsOf.get(holder) ?? new Set(holder.files.map((file) => file.path))
    pathsOf.set(holder, paths)
    return paths.has(`${folder}/SKILL.md`)
  }
  return ({ path }, what) =>
    [...foldersAbove(path)].flatMap((folder) => {
      const holder = byPath.get(folder)
      return holder !== undefined && isHeld(holder, relativeTo(folder, path), what) ? [holder] : []
    })
}

/** `as-it-may-be`: a field that cannot be read counts as a match, since it may be one. */
type Reading = 'as-declared' | 'as-it-may-be'

function fitting(
  choices: readonly PackSelection[],
  { source, marketplace }: PackableSnapshot,
  reading: Reading,
): (skill: Skill) => boolean {
  const ofSource = choices.filter((choice) => canFit(choice, source))
  const tests = ofSource.map((choice) => {
    const isFit = fitTo(choice, reading)
    const isGrouped = pluginTest(choice, marketplace, reading)
    return (skill: Skill) => isGrouped(skill.path) && isFit(skill)
  })
  return (skill) => tests.some((isFit) => isFit(skill))
}

function pluginTest(
  { plugin }: PackSelection,
  marketplace: Marketplace | undefined,
  reading: Reading,
): (skillPath: string) => boolean {
  if (plugin === undefined) return ALWAYS
  const isUnknown = marketplace === undefined || marketplace.isIncomplete === true
  if (reading === 'as-it-may-be' && isUnknown) return ALWAYS
  const isNamed = nameMatcher(plugin)
  return groupedIn(marketplace?.groups.filter(({ name }) => isNamed(name)) ?? [])
}

function canFit(choice: PackSelection, source: string): boolean {
  return choice.source === undefined || matcher([choice.source])(source)
}

function fitTo({ path, name, tag }: PackSelection, reading: Reading): (skill: Skill) => boolean {
  const isPath = path === undefined ? ALWAYS : matcher([path])
  const isName = name === undefined ? ALWAYS : nameMatcher(name)
  const wanted = tag?.trim().toLowerCase()
  return (skill) => {
    if (!isPath(skill.path)) return false
    if (name === undefined && wanted === undefined) return true
    if (reading === 'as-it-may-be' && (skill.frontmatter === undefined || skill.name === undefined)) return true
    return (
      (name === undefined || (skill.name !== undefined && isName(skill.name))) &&
      (wanted === undefined || tagsOf(skill.frontmatter).includes(wanted))
    )
  }
}

const ALWAYS = (): boolean => true

/** True if the pack can contain a skill of the source, whatever skills that has. */
export function canHold({ include }: Pack, source: string): boolean {
  return include.some((choice) => canFit(choice, source))
}

/**
 * The content digest of a pack, 64 lower-case hex digits: that of the set of its skills, each by its path after the id
 * of its source. Withheld skills do not count. Disabled ones do, since disabling is not a matter of content.
 */
export function packDigestOf(pack: Pack, snapshots: readonly Snapshot[]): string {
  return setDigestOf(skillsOf(pack, snapshots))
}

/**
 * The pack as a lock has it, if its sources have these snapshots. The part of a source without a snapshot comes from
 * `earlier`; `undefined` if that does not have it, or the pack chooses by plugin: a commit may move skills to another
 * plugin and change none. Keeps unknown fields of the earlier entry.
 */
export function lockedPackOf(
  pack: Pack,
  lock: Pick<Lock, 'sources'>,
  snapshots: readonly Snapshot[],
  earlier: LockedPack | undefined,
): LockedPack | undefined {
  const choices = choicesDigestOf([pack])
  const sources = new Map([...lock.sources].flatMap(([id, { digest }]) => (canHold(pack, id) ? [[id, digest]] : [])))
  const absent = [...sources.keys()].filter((id) => !snapshots.some(({ source }) => source === id))
  const isAsBefore = absent.every((id) => earlier?.sources.get(id) === sources.get(id))
  const isByPlugin = [...pack.include, ...pack.exclude].some(({ plugin }) => plugin !== undefined)
  const kept = earlier?.choices === choices && isAsBefore && !isByPlugin ? keptOf(earlier, lock, absent) : undefined
  if (absent.length > 0 && kept === undefined) return undefined
  const skills = new Map([...skillsOf(pack, snapshots), ...(kept ?? [])])
  const paths = [...skills.keys()].toSorted(comparePaths)
  return { choices, sources, digest: setDigestOf(skills), skills: paths, rest: earlier?.rest ?? {} }
}

/**
 * The skills that the entry has of the sources, with the current data of the lock. `undefined` if the lock lacks one of
 * them.
 */
function keptOf({ skills }: LockedPack, { sources }: Pick<Lock, 'sources'>, ids: readonly SourceId[]) {
  const kept = skills.flatMap((place) => {
    const id = ids.find((source) => place.startsWith(`${source}/`))
    return id === undefined ? [] : [[place, sources.get(id)?.skills.get(relativeTo(id, place))] as const]
  })
  const known = kept.flatMap(([place, skill]) => (skill === undefined ? [] : [[place, skill] as const]))
  return known.length === kept.length ? new Map(known) : undefined
}

/** The differences between the packs of the lock and those of the configuration. */
export function packMismatches(locked: ReadonlyMap<string, LockedPack>, packs: readonly Pack[]): Mismatch[] {
  const extra = [...locked.keys()].filter((id) => !packs.some((pack) => pack.id === id))
  return [
    ...packs.flatMap((pack): Mismatch[] => {
      const entry = locked.get(pack.id)
      if (entry === undefined) return [{ source: `pack ${pack.id}`, message: `is not in the lock${MEND}` }]
      if (entry.choices === choicesDigestOf([pack])) return []
      return [{ source: `pack ${pack.id}`, message: `chooses otherwise in the lock than in the configuration${MEND}` }]
    }),
    ...extra.map((id) => ({ source: `pack ${id}`, message: `is in the lock and not in the configuration${MEND}` })),
  ]
}

/** The lock of a pack follows from the rest of the lock: the operator need not approve it by name. */
const MEND = '; skillsyncd lock writes it again'

type SetOfSkills = ReadonlyMap<string, Pick<LockedSkill, 'name' | 'digest'>>

function skillsOf(pack: Pack, snapshots: readonly Snapshot[]): SetOfSkills {
  const skills = snapshots.flatMap((snapshot) =>
    [...packedIn(snapshot, pack)].flatMap((skill) => {
      const { path, name = '', digest } = skill
      return digest === undefined || !isLockable(skill)
        ? []
        : [[`${snapshot.source}/${path}`, { name, digest }] as const]
    }),
  )
  return new Map(skills)
}

/** Digest of the operator's choices for the packs: equal digests choose the same of the same skills. */
export function choicesDigestOf(packs: readonly Pack[]): string {
  const inOrder = packs.toSorted((a, b) => comparePaths(a.id, b.id))
  const choices = inOrder.map(({ id, include, exclude }) => [id, include.map(inWords), exclude.map(inWords)])
  return createHash('sha256').update(JSON.stringify(choices)).digest('hex')
}

function inWords(choice: WideChoice): readonly (string | null)[] {
  const { source = null, path = null, name = null, tag = null, plugin = null } = choice
  // A lock from before there was `plugin` has digests without it.
  return plugin === null ? [source, path, name, tag] : [source, path, name, tag, plugin]
}

type WideChoice = { readonly [Key in keyof PackSelection]: string | null }
