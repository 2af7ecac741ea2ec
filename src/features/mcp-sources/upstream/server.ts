import type { TraceContext } from '../../../base/trace-context.ts'
import type { ServerListing } from '../../../sync/model/server-listing.ts'
import type { NamedSkill } from '../../../sync/model/source.ts'
import type { Watched } from '../client/change-listener.ts'
import type { Completed, Completing } from './completion.ts'
import type { ResourceContents } from './contents.ts'
import type { MadeEntry } from './listing-context.ts'
import type { SkillSpaces } from './skill-templates.ts'

/** An MCP server that publishes skills, for the lifetime of its configuration. Every failure is a `SyncError`. */
export interface McpServer extends AsyncDisposable {
  /** Lists all skills. */
  list(signal: AbortSignal): Promise<ServerListing>
  /** Returns one entry, by the URI of its SKILL.md; `undefined` if the server has none. */
  entry(uri: string, signal: AbortSignal): Promise<unknown>
  /**
   * Reads a resource of at most `mostBytes`, or returns why the server lacks it. `trace`: the trace context of the
   * client's request.
   */
  read(uri: string, mostBytes: number, signal: AbortSignal, trace?: TraceContext): Promise<ResourceContents>
  /** Looks up a skill by its URI, which the server need not list. */
  find(named: NamedSkill, signal: AbortSignal): Promise<MadeEntry>
  /** Returns the server's URI templates for skills. */
  spaces(signal: AbortSignal): Promise<SkillSpaces>
  /** Returns the server's suggestions for a template variable. */
  complete(completing: Completing, signal: AbortSignal): Promise<Completed>
  /** Reads an archive again after one of its files was lost. */
  reread(archive: string, signal: AbortSignal): Promise<void>
  /** Subscribes to changes of these URIs and of the listing. A notification triggers a new listing. */
  watch(wanted: Watched): void
}
