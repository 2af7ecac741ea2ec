import type { Config } from '../../daemon/config/config.ts'
import { readKept } from '../../daemon/pull/stored-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { undeclaredFiles, undeclaredText } from '../../sync/model/declared-digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, UpstreamSkill } from '../../sync/model/skill.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { unportableReason } from '../../sync/skill/skill-path.ts'
import { knownOf } from '../../sync/store/skills/listing-mismatches.ts'
import { storedSkill } from '../../sync/store/skills/stored-path.ts'
import type { Mismatches } from '../../sync/store/skills/upstream-files.ts'
import type { Store } from '../../sync/store/store.ts'
import { READ_HERE } from '../../sync/survey/document-reading.ts'
import { refusalIn, textKeyOf } from '../../sync/survey/listing-hidden-text.ts'
import type { KnownTexts } from '../../sync/survey/listing-hidden-text.ts'

/**
 * The skills of MCP servers whose sources have `folders`, each with the reason why it is put into no folder; `undefined`
 * if it can be. A skill that is absent must not be linked.
 */
export type FetchedSkills = ReadonlyMap<Skill, string | undefined>

export const NONE_FETCHED: FetchedSkills = new Map()

/** The configuration, and the files that were fetched. */
export interface FetchedGround {
  readonly config: Config
  readonly store: Store
}

/**
 * Examines the served skills of MCP servers. A skill can be linked if all of its files are stored, have the declared
 * digests, and hide nothing that the source does not allow. What cannot be read of one server concerns its skills alone.
 */
export async function fetchedIn({ snapshots }: Catalog, ground: FetchedGround): Promise<FetchedSkills> {
  const servers = sourcesWithFolders(ground.config)
  if (servers.length === 0) return NONE_FETCHED
  const fetched = new Map<Skill, string | undefined>()
  for (const { source, skills } of snapshots) {
    const server = servers.find(({ id }) => id === source)
    if (server === undefined) continue
    const served = skills.filter(isOfUpstream).filter(({ standing }) => !['withheld', 'unlisted'].includes(standing))
    try {
      const { texts, mismatches } = await findingsOf(server, ground)
      for (const skill of served) {
        const refusal = refusalIn(skill, texts, server.hiddenUnicode)?.message ?? knownOf(skill, mismatches)
        fetched.set(skill, refusal ?? unfitReason(skill, ground) ?? (await faultOf(skill, server, ground)))
      }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      for (const skill of served) fetched.set(skill, error.message)
    }
  }
  return fetched
}

/** Has the stored files of the skill examined anew: one of them was found damaged. */
export function forgetExamined(skill: UpstreamSkill): void {
  EXAMINED.delete(skill)
}

/** The MCP servers whose skills the operator lets into folders. */
export function sourcesWithFolders({ sources }: Config): readonly McpSource[] {
  return sources.flatMap(({ source }) => (source.kind === 'mcp' && source.folders ? [source] : []))
}

/** The findings in the files. They are on the disk before the catalog withholds the skills. */
async function findingsOf(
  { id }: McpSource,
  { store: { upstreams } }: FetchedGround,
): Promise<{ readonly texts: KnownTexts; readonly mismatches: Mismatches }> {
  return { texts: await upstreams.texts(id), mismatches: await upstreams.mismatches(id) }
}

/** The reason why the skill can never be put into a folder as it is declared. */
function unfitReason(skill: UpstreamSkill, { store }: FetchedGround): string | undefined {
  const undeclared = undeclaredText(undeclaredFiles(skill).length, skill.files.length)
  if (undeclared !== undefined) return `${undeclared}, so nothing proves what its files are`
  const reason = unportableReason(skill)
  if (reason !== undefined) return `${reason}, so a folder could have other content`
  try {
    store.skills.expectStorable(storedSkill(skill))
    return undefined
  } catch (error) {
    // One such skill must not keep the links of all others from being switched.
    if (error instanceof SyncError) return error.message
    throw error
  }
}

/**
 * Reads all files of the skill, once while it is declared so. They are searched here too: a text may have been stored in
 * another role, in which it was searched less, and findings are kept for a number of texts only.
 */
async function faultOf(
  skill: UpstreamSkill,
  { hiddenUnicode }: McpSource,
  { config, store }: FetchedGround,
): Promise<string | undefined> {
  if (EXAMINED.has(skill)) return undefined
  let lacking = 0
  for (const file of skill.files) {
    const kept = await readKept(skill, file, { store, config }, NEVER)
    if (kept.kind !== 'whole') {
      lacking += 1
      continue
    }
    const hidden = await READ_HERE.hiddenIn(file.path, kept.bytes, NEVER)
    const texts = new Map(hidden === undefined ? [] : [[textKeyOf(file), hidden]])
    const refusal = refusalIn({ path: skill.path, files: [file] }, texts, hiddenUnicode)
    if (refusal !== undefined) return refusal.message
  }
  if (lacking > 0)
    return `${lacking} of its ${skill.files.length} files are not fetched yet; the daemon fetches them at its next poll, and skillsyncd mcp-source mirror now`
  EXAMINED.add(skill)
  return undefined
}

/** The skills without a fault. Another declaration of a skill is another value. */
const EXAMINED = new WeakSet<UpstreamSkill>()

const NEVER = new AbortController().signal
