import type { ServerListing } from '../../model/server-listing.ts'
import type { Watched } from './client/change-listener.ts'
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
