import type { Offers } from '../../../sync/model/server-listing.ts'
import type { SkillCode, SkillDiagnostic } from '../../../sync/skill/skill-diagnostic.ts'
import { EntryUnanswered, withoutWaiting } from '../client/entry-requests.ts'
import type { EntryRequests } from '../client/entry-requests.ts'
import type { McpConnection } from '../client/mcp-connection.ts'
import type { UnpackedArchives } from './archives.ts'
import type { FileCache } from './file-cache.ts'
import type { FileLists } from './file-lists.ts'
import type { LinkedFiles } from './linked-files.ts'
import type { LookRules } from './look-rules.ts'
import type { Enumerating } from './pages.ts'

/** The context of one listing of a server. */
export interface ListingContext extends Enumerating {
  readonly connection: McpConnection
  readonly entryRequests: EntryRequests
  readonly rules: LookRules
  readonly fileCache: FileCache
  /** `undefined` if skills in archives are ignored. */
  readonly archives: UnpackedArchives | undefined
  readonly lists: FileLists
  readonly links: LinkedFiles
}

/** The result of interpreting one skill in an older form. */
export interface MadeEntry {
  /** Absent if no entry could be made, or if the skill is not wanted. */
  readonly entry?: unknown
  /** True if the server does not declare the digests: the files are those that were read. */
  readonly isFirstRead?: boolean
  /** True if SKILL.md has the digest that the server declares for it alone. */
  readonly isDocumentProved?: boolean
  /** True if the server declares that its files may differ at each read. */
  readonly isDynamic?: boolean
  /** The URI of the archive that contained all of its files. */
  readonly archive?: string
  readonly findings?: readonly SkillDiagnostic[]
  /** The kind of an item that is no entry, because the operator takes such items by a command or a key. */
  readonly offer?: keyof Offers
}

/** Returns a finding for a skill without an entry. */
export function entryFinding(rule: SkillCode, path: string, message: string): Required<Pick<MadeEntry, 'findings'>> {
  return { findings: [{ rule, path, message }] }
}

/** Makes the entries of all items. An item for which the server gives no answer costs its own entry alone. */
export async function madeInTurn<Item>(
  items: readonly Item[],
  made: (item: Item, looking: ListingContext) => Promise<MadeEntry>,
  pathOf: (item: Item) => string | undefined,
  looking: ListingContext,
): Promise<readonly MadeEntry[]> {
  const make = async (item: Item, signal: AbortSignal): Promise<MadeEntry> => {
    try {
      return await made(item, { ...looking, signal })
    } catch (error) {
      if (!(error instanceof EntryUnanswered)) throw error
      return unansweredEntry(error, pathOf(item) ?? '', looking)
    }
  }
  return withoutWaiting(items, make, looking.signal)
}

/** Returns the finding for what was not answered. The schedule asks again, whatever freshness the server declared. */
export function unansweredEntry(
  { message }: Pick<EntryUnanswered, 'message'>,
  path: string,
  { hints }: ListingContext,
): Required<Pick<MadeEntry, 'findings'>> {
  hints.hear('skills/list', {})
  return entryFinding('no-answer-for-entry', path, message)
}
