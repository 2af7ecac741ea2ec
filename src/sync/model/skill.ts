import type { JsonObject } from '../../base/json-value.ts'
import { fullestFolder } from '../../base/paths.ts'
import type { Contract } from '../skill/contract/contract.ts'
import type { HiddenText } from '../skill/hidden-unicode.ts'
import type { LifecycleEdit } from '../skill/lifecycle.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import type { Docs } from './docs-folder.ts'
import type { ObjectId } from './revision.ts'
import type { SourceId } from './source-id.ts'

/** All data about one SKILL.md of one revision. */
export interface Skill {
  /** The true folder, relative to the source's root; empty for the root itself. */
  readonly path: string
  /** The path of its URI after the source id. `undefined` if no URI can hold its name. */
  readonly servedPath: string | undefined
  readonly standing: Standing
  /**
   * True for a tools-only skill whose path the source keeps out of lists: it is found by its longest id, and is in no
   * list.
   */
  readonly isUnlisted?: true
  /** As declared; `undefined` if the frontmatter has none. */
  readonly name: string | undefined
  readonly description: string | undefined
  /** The frontmatter as JSON: nothing added, dropped or renamed. `undefined` if it could not be read. */
  readonly frontmatter: JsonObject | undefined
  /** Sorted by raw path bytes. Empty if the skill was withheld before its files were read. */
  readonly files: readonly SkillFile[]
  /** Total of the file sizes, in bytes. */
  readonly size: number
  /** `digestOf(files)`, 64 hex digits. `undefined` if `files` is empty. */
  readonly digest: string | undefined
  /** The content of its `x-personal-mcp` block, if its source requires the contract and the block is valid. */
  readonly contract?: Contract
  /** For a skill of another MCP server: the names that the server uses. */
  readonly upstream?: UpstreamNames
  /** Present for an earlier version that the source keeps in place of a broken one. */
  readonly kept?: KeptVersion
  /** The statements of the operator about its lifecycle. Only a skill of a catalog has them, and no stored one. */
  readonly lifecycle?: LifecycleEdit
  readonly findings: readonly SkillDiagnostic[]
}

/** The origin of an earlier version of a skill, and the reason why it is served. */
export interface KeptVersion {
  /** The commit that it was read from, one of `Snapshot.keptFrom`. */
  readonly commit: ObjectId
  /** The first commit that was surveyed with a broken version. */
  readonly since: ObjectId
  /** The first faults of the broken version. */
  readonly faults: readonly SkillDiagnostic[]
}

/** The URIs that another server gave, in its own spelling: a request uses no other spelling. */
export interface UpstreamNames {
  readonly source: SourceId
  /** The URI of the SKILL.md. */
  readonly uri: string
  /** URIs by path, for the files whose URI is not their `plainUpstreamUri`. */
  readonly files?: Readonly<Record<string, string>>
  /**
   * The paths of files that are executable at their origin, as the server says. Nothing here is executable because of
   * that.
   */
  readonly executables?: readonly string[]
  /**
   * The URI of the archive that they came in: the client requests the archive, since the server has none of the files.
   */
  readonly archive?: string
  /** `SKILL.md`: the server declares the digest of that file alone, and need not list other files. */
  readonly declares?: 'SKILL.md'
  /**
   * True if the skill is withheld only because of a text that was read after it was declared. A lock has it as
   * declared.
   */
  readonly isRefusedAsRead?: true
}

/** Under `_meta` of an entry of `skills/list`: the paths of the files that are executable in their repository. */
export const EXECUTABLES = 'dev.skillsyncd/executables'

/** A skill of another MCP server: its files are stored apart from all others, and only those that were requested. */
export type UpstreamSkill = Skill & { readonly upstream: UpstreamNames }

export function isOfUpstream(kept: Skill | Docs): kept is UpstreamSkill {
  return 'upstream' in kept && kept.upstream !== undefined
}

/**
 * The identity of a skill in all of its places: equal texts mean equal name and content. A skill of an MCP server
 * equals only skills of that server: bytes that it fails to deliver must not stand for those of others.
 */
export function contentKeyOf(skill: Pick<Skill, 'name' | 'digest' | 'upstream'>): string {
  return JSON.stringify([skill.name, skill.digest, skill.upstream?.source])
}

/**
 * The state of a SKILL.md. `served`: in every list. `unlisted`: available by URI, in no list. `tools`: its name or
 * frontmatter fits no URI, or another skill has that URI, so the tools offer it, and under the name of its folder.
 * `withheld`: not offered, the findings give the reason.
 */
export type Standing = 'served' | 'unlisted' | 'tools' | 'withheld'

/** False if the source keeps the skill's path out of lists: it is found only by its URI or its longest id. */
export function isInLists({ standing, isUnlisted }: Pick<Skill, 'standing' | 'isUnlisted'>): boolean {
  return standing !== 'unlisted' && isUnlisted !== true
}

/**
 * True if a lock contains the skill. Withheld skills are not part of a lock. For another server, a lock contains what
 * the server declares: a text that one machine read and refused counts as on a machine that has not read it.
 */
export function isLockable({ standing, upstream }: Pick<Skill, 'standing' | 'upstream'>): boolean {
  return standing !== 'withheld' || upstream?.isRefusedAsRead === true
}

/** The skill of another machine, withheld here with the reason, and without files. */
export function withheldSkill(skill: Skill, finding: SkillDiagnostic): Skill {
  const { isUnlisted: _isUnlisted, kept: _kept, ...rest } = skill
  const findings = [...skill.findings, finding]
  return { ...rest, standing: 'withheld', files: [], size: 0, digest: undefined, findings }
}

export interface SkillFile {
  /** Relative to the skill's folder, slash-separated. */
  readonly path: string
  readonly executable: boolean
  /**
   * The git blob of the served bytes; for a link, that of its target. For a file outside of a repository: the SHA-256
   * of its bytes.
   */
  readonly blob: ObjectId
  readonly size: number
  readonly sha256: string
  /** The path is a link in the repository, resolved inside the skill. */
  readonly link?: true
  /** The invisible text in it. Stored, so that an unchanged file need not be read again for it. */
  readonly hidden?: HiddenText
}

/** A file of a skill that came in an archive. */
export type PackedFile = Pick<SkillFile, 'path' | 'size' | 'sha256'>

export interface SkillLimits {
  readonly files: number
  /** The total of all files. */
  readonly bytes: number
}

/**
 * The limits of the extension itself (SEP-2640). Every host must support a skill at the limit; a skill above it is
 * withheld, never trimmed.
 */
export const SKILL_LIMITS: SkillLimits = { files: 512, bytes: 16_777_216 }

/** The number of files that are too many, as text, with the folder that holds most of them. `count`: if it is known apart. */
export function tooManyFiles(paths: readonly string[], most: number, count = String(paths.length)): string {
  const fullest = fullestFolder(paths)
  const where = fullest && `; ${fullest.files} of them are in ${JSON.stringify(fullest.folder.slice(0, SHOWN_LENGTH))}`
  return `${count} files, over the limit of ${most}${where ?? ''}`
}

const SHOWN_LENGTH = 300
