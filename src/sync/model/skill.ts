import type { Contract } from '../skill-md/contract/contract.ts'
import type { Docs } from './docs-folder.ts'
import type { Finding } from '../skill-md/finding.ts'
import type { JsonObject } from '../../base/json-value.ts'
import type { HiddenText } from '../skill-md/hidden-unicode.ts'
import type { ObjectId } from './revision.ts'
import type { SourceId } from './source-id.ts'

/** Everything known about one SKILL.md of one revision. */
export interface Skill {
  /** The true folder, relative to the source's root; empty for the root itself. */
  readonly path: string
  /** Where it is served: the path of its URI after the source id. Undefined where no URI can hold its name. */
  readonly servedPath: string | undefined
  readonly standing: Standing
  /** True of a skill for tools alone whose path the source keeps out of lists: it is found by its longest id, and is in no list. */
  readonly isUnlisted?: true
  /** As declared, or undefined where the frontmatter gives none. */
  readonly name: string | undefined
  readonly description: string | undefined
  /** The frontmatter as JSON: nothing added, dropped or renamed. Undefined where it could not be read. */
  readonly frontmatter: JsonObject | undefined
  /** Sorted by raw path bytes. Empty where the skill was withheld before its files were read. */
  readonly files: readonly SkillFile[]
  /** Total of the file sizes, in bytes. */
  readonly size: number
  /** `digestOf(files)`, 64 hex digits. Undefined where `files` is empty. */
  readonly digest: string | undefined
  /** What its `x-personal-mcp` block says, where its source asks for that and nothing is wrong with it. */
  readonly contract?: Contract
  /** Of a skill of another MCP server: what that calls it. */
  readonly upstream?: UpstreamNames
  readonly findings: readonly Finding[]
}

/** The URIs that another server gave, as it wrote them: it is asked in no other spelling. */
export interface UpstreamNames {
  readonly source: SourceId
  /** Of the SKILL.md. */
  readonly uri: string
  /** By path, of the files whose URI is not `plainUpstreamUri` of theirs. */
  readonly files?: Readonly<Record<string, string>>
  /** The paths of the files that are executable where they come from, as the server says. Nothing here is executable for that. */
  readonly executables?: readonly string[]
  /** Of the archive that they came in: the server is asked for that, and has none of them. */
  readonly archive?: string
  /** True of a skill that is withheld for nothing but a text that was read since it was declared. A lock has it as declared. */
  readonly isRefusedAsRead?: true
}

/** Under `_meta` of an entry of `skills/list`: the paths of the files that are executable in their repository. */
export const EXECUTABLES = 'dev.skillsyncd/executables'

/** A skill of another MCP server: its files lie apart from all others, as far as somebody wanted them. */
export type UpstreamSkill = Skill & { readonly upstream: UpstreamNames }

export function isOfUpstream(kept: Skill | Docs): kept is UpstreamSkill {
  return 'upstream' in kept && kept.upstream !== undefined
}

/**
 * The one thing that a skill is in all of its places: with equal texts name and content are equal. What an MCP server says that it has
 * is compared with nothing but its own skills: bytes that fail to come must not stand for those of others.
 */
export function contentKeyOf(skill: Pick<Skill, 'name' | 'digest' | 'upstream'>): string {
  return JSON.stringify([skill.name, skill.digest, skill.upstream?.source])
}

/**
 * What becomes of a SKILL.md. `served`: in every list. `unlisted`: answered by URI, in no list. `tools`: its name or
 * frontmatter fits no URI, or another skill has that URI, so that it is offered by tools, and under the name of its folder. `withheld`: not offered, the findings say why.
 */
export type Standing = 'served' | 'unlisted' | 'tools' | 'withheld'

/** False of a skill whose path its source keeps out of lists: it is found by its URI or its longest id alone. */
export function isInLists({ standing, isUnlisted }: Pick<Skill, 'standing' | 'isUnlisted'>): boolean {
  return standing !== 'unlisted' && isUnlisted !== true
}

/**
 * Whether a lock has the skill: what is withheld has no part in it. Of another server a lock has what that declares, and a text
 * that one machine read and refused is in it as it is for a machine that has not read it.
 */
export function isLockable({ standing, upstream }: Pick<Skill, 'standing' | 'upstream'>): boolean {
  return standing !== 'withheld' || upstream?.isRefusedAsRead === true
}

export interface SkillFile {
  /** Relative to the skill's folder, slash-separated. */
  readonly path: string
  readonly executable: boolean
  /**
   * The git blob whose bytes are served; for a link, that of its target. Of a file that no repository has: the SHA-256 of its
   * bytes.
   */
  readonly blob: ObjectId
  readonly size: number
  readonly sha256: string
  /** The path is a link in the repository, resolved inside the skill. */
  readonly link?: true
  /** What nobody would see in it. Kept, so that a file that is as it was need not be read for it again. */
  readonly hidden?: HiddenText
}

/** A file of a skill that came in an archive. */
export type PackedFile = Pick<SkillFile, 'path' | 'size' | 'sha256'>

export interface SkillLimits {
  readonly files: number
  /** Of all files together. */
  readonly bytes: number
}

/** The extension's own limits (SEP-2640): at the limit every host must cope, above it a skill is withheld, never trimmed. */
export const SKILL_LIMITS: SkillLimits = { files: 512, bytes: 16_777_216 }
