import type { Finding } from '../../skill-md/finding.ts'
import type { ListingForm } from '../../model/listing-form.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { Completed, Completing } from './completion.ts'
import type { Contents } from './contents.ts'
import type { Made, NamedSkill } from './listing-context.ts'
import type { SkillSpaces } from './skill-templates.ts'

/** An MCP server that publishes skills, for as long as its source is configured. Every failure is a `SyncError`. */
export interface McpServer extends AsyncDisposable {
  /** All that it lists. */
  list(signal: AbortSignal): Promise<ServerListing>
  /** One entry, by the URI of its SKILL.md; undefined where the server has none. */
  entry(uri: string, signal: AbortSignal): Promise<unknown>
  /** The bytes of a resource, at most so many, or why the server does not have that. `trace`: of whoever it is asked for. */
  read(uri: string, mostBytes: number, signal: AbortSignal, trace?: TraceContext): Promise<Contents>
  /** What it has where a skill is said to be that it may list nowhere. */
  find(named: NamedSkill, signal: AbortSignal): Promise<Made>
  /** Its templates for the URIs of skills. */
  spaces(signal: AbortSignal): Promise<SkillSpaces>
  /** What it has for a variable of such a template. */
  complete(completing: Completing, signal: AbortSignal): Promise<Completed>
  /** Has an archive read again, of whose files one was lost. */
  reread(archive: string, signal: AbortSignal): Promise<void>
  /** Has these URIs, and changes of the listing, told about; whoever is told looks for what changed. */
  watch(wanted: Watched): void
}

/** The resources to watch, by the URIs that the server gave. */
export interface Watched {
  readonly uris: readonly string[]
  /** Folders, watched at a server that lists what its `skills/list` leaves out: no other resource tells of a file in one. */
  readonly omitted: readonly string[]
}

/** An enumeration, and how it may be kept. */
export interface ServerListing extends Enumeration {
  /** For how long it is of no use to ask again. */
  readonly ttlMs: number
  readonly isPrivate: boolean
}

/** What was enumerated, and what it was learnt from. */
export interface Enumeration {
  readonly form: ListingForm
  /** As `skills/list` has them: as they came, null for one that is nested too deep, or made of what an older form says. */
  readonly entries: readonly unknown[]
  /** Of what no entry could be made of. */
  readonly findings: readonly Finding[]
  /** The URIs of entries whose files nobody promised: they are what they were when they were read. */
  readonly firstRead: ReadonlySet<string>
  /** The URIs of those of them that the server calls dynamic. */
  readonly dynamic: ReadonlySet<string>
  /** By the URIs of entries whose files came in an archive, and are asked for in no other way: that of the archive. */
  readonly packed: ReadonlyMap<string, string>
}
