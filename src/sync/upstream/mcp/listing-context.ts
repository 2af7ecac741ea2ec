import type { DocumentReader } from '../../skill-md/document-reader.ts'
import type { Finding, FindingRule } from '../../skill-md/finding.ts'
import type { FrontmatterLimits } from '../../skill-md/frontmatter.ts'
import { folderOf } from '../../../base/paths.ts'
import type { SkillLimits } from '../../model/skill.ts'
import { pathOf, readUpstreamUri } from '../../model/upstream-uri.ts'
import type { FileLists } from './file-lists.ts'
import type { LinkedFiles } from './linked-files.ts'
import type { Enumerating } from './pages.ts'
import type { Archives } from './archives.ts'
import type { Shelf } from './file-cache.ts'

/** What the operator lets a look at one server do. */
export interface LookRules {
  readonly skill: SkillLimits
  readonly frontmatter: FrontmatterLimits
  readonly reader: DocumentReader
  /** Of a file whose size nobody declared. */
  readonly fileBytes: number
  /** How long a server has to say that it knows a method. */
  readonly connectMs: number
  /** Skills that the server lists nowhere, as they are named at this moment. */
  readonly named: () => readonly NamedSkill[]
  /** Whether the skill of a path is taken at all: of others nothing is read. */
  readonly isWanted: (path: string) => boolean
  /** Whether files of which the server tells digests and no sizes are read to learn them, by the URI of their SKILL.md. */
  readonly isMeasured: (uri: string) => boolean
  /** Whether files that the server calls dynamic are taken for what they are at a look. */
  readonly takesDynamic: boolean
  /** Something was odd, and is of no consequence. */
  readonly onOddity: (message: string) => void
}

/** A skill that the operator named by the URI of its SKILL.md. */
export interface NamedSkill {
  readonly uri: string
  /** It is read where the server has no `skills/get`, and taken for what it is then. */
  readonly isUnverified: boolean
}

/** One look at a server. */
export interface Looking extends Enumerating {
  readonly rules: LookRules
  readonly shelf: Shelf
  /** Undefined where skills that come packed are ignored. */
  readonly archives: Archives | undefined
  readonly lists: FileLists
  readonly links: LinkedFiles
}

/** What came of what an older form says of one skill. */
export interface Made {
  /** Left out where none could be made, or nobody wants it. */
  readonly entry?: unknown
  /** Whether its files are what they were when they were read, and nothing else. */
  readonly isFirstRead?: boolean
  /** Whether the server says of its files that they may be others at each reading. */
  readonly isDynamic?: boolean
  /** The URI of the archive that all of its files came in. */
  readonly archive?: string
  readonly findings?: readonly Finding[]
}

/** The folder of a skill as paths have it; undefined where the URI is none of a SKILL.md. */
export function skillPathOf(uri: string): string | undefined {
  const read = readUpstreamUri(uri)
  if (!read.ok || read.segments.at(-1) !== 'SKILL.md' || read.segments.length < 2) return undefined
  return folderOf(pathOf(read))
}

/** Everything before `/SKILL.md`, as the server writes it. */
export function rootOf(uri: string): string {
  return uri.slice(0, uri.lastIndexOf('/'))
}

/** The URI of a file of the skill, of whose path nothing is encoded. */
export function uriOfFile(uri: string, path: string): string {
  return path === 'SKILL.md' ? uri : `${rootOf(uri)}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** What a server says of a file, in a form that is compared and kept. */
export function saidIn(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(0, MOST_SAID)
}

const MOST_SAID = 2048

/** No entry, for this reason. */
export function unmade(rule: FindingRule, path: string, message: string): Required<Pick<Made, 'findings'>> {
  return { findings: [{ rule, path, message }] }
}
