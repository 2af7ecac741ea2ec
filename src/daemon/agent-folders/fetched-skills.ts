import { unportableReason } from '../../serve/marketplace/portable-path.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, UpstreamSkill } from '../../sync/model/skill.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { storedSkill } from '../../sync/store/skills/stored-path.ts'
import type { Mismatches } from '../../sync/store/skills/upstream-files.ts'
import type { Store } from '../../sync/store/store.ts'
import { refusalIn } from '../../sync/survey/listing-hidden-text.ts'
import type { KnownTexts } from '../../sync/survey/listing-hidden-text.ts'
import { knownOf } from '../../sync/survey/listing-mismatches.ts'
import type { Config } from '../config/config.ts'
import { readKept } from '../mcp-sources/stored-file.ts'

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
 * Examines the served skills of MCP servers. A skill can be linked if all of its files are stored. Each was compared with
 * its digest before it was stored, and is compared again when a checkout or a copy is made of it.
 */
export async function fetchedIn({ snapshots }: Catalog, ground: FetchedGround): Promise<FetchedSkills> {
  const servers = sourcesWithFolders(ground.config)
  if (servers.length === 0) return NONE_FETCHED
  const fetched = new Map<Skill, string | undefined>()
  for (const { source, skills } of snapshots) {
    const server = servers.find(({ id }) => id === source)
    if (server === undefined) continue
    const { texts, mismatches } = await findingsOf(server, ground)
    for (const skill of skills.filter(isOfUpstream)) {
      if (skill.standing === 'withheld' || skill.standing === 'unlisted') continue
      const refusal = refusalIn(skill, texts, server.hiddenUnicode)?.message ?? knownOf(skill, mismatches)
      fetched.set(skill, refusal ?? unfitReason(skill, ground) ?? (await lackOf(skill, ground)))
    }
  }
  return fetched
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
  if (skill.findings.some(({ rule }) => rule === 'not-verifiable'))
    return 'its server declares no digests, so nothing proves what its files are'
  const reason = unportableReason(skill)
  if (reason !== undefined) return `${reason}, so a folder could have it otherwise`
  try {
    store.skills.expectStorable(storedSkill(skill))
    return undefined
  } catch (error) {
    // One such skill must not keep the links of all others from being switched.
    if (error instanceof SyncError) return error.message
    throw error
  }
}

async function lackOf(skill: UpstreamSkill, { config, store }: FetchedGround): Promise<string | undefined> {
  const { source } = skill.upstream
  let lacking = 0
  for (const file of skill.files) {
    // A SKILL.md is compared with the frontmatter of this declaration too, so it is read.
    const isHere =
      file.path === 'SKILL.md'
        ? (await readKept(skill, file, { store, config }, NEVER)).kind === 'whole'
        : await store.upstreams.has(source, file)
    if (!isHere) lacking += 1
  }
  if (lacking === 0) return undefined
  return `${lacking} of its ${skill.files.length} files are not fetched yet; the daemon fetches them at its next look, and skillsyncd mirror now`
}

const NEVER = new AbortController().signal
