import { idsOf } from '../../daemon/config/config.ts'
import { admissionOf } from '../../daemon/pull/trust/serving-policy.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { offeredIn } from '../../sync/catalog/tool-catalog.ts'
import type { OfferedSkills } from '../../sync/catalog/tool-catalog.ts'
import { pendingIn } from '../../sync/model/decisions/approvals.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { currentState } from '../../sync/pull/generation-catalog.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'
import { Store } from '../../sync/store/store.ts'
import { fetchedIn, sourcesWithFolders } from './fetched-skills.ts'
import type { LinkingConfig } from './link-config.ts'
import type { Links, LinkFilter } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'
import { LinkableSkills, linkableIn } from './linkable-skills.ts'
import { readLinks } from './links-file.ts'
import { leftOutOf, upstreamIn } from './unlinkable-skills.ts'
import type { LeftOut } from './unlinkable-skills.ts'

/** The served skills that can be linked, and the links, at one moment. */
export interface ServedLinks {
  readonly config: LinkingConfig
  readonly store: Store
  readonly links: Links
  readonly linkable: readonly Linkable[]
  readonly meant: LinkableSkills
}

/** The served links, and what a command says of the other skills. */
export interface LinkedState extends ServedLinks {
  /** The skills that the tools offer from this catalog, by the ids that `list WORDS` prints. */
  readonly offered: OfferedSkills
  /** The sources whose served content was lost from the disk. */
  readonly lost: readonly LostSource[]
  /** True if a generation exists: something was pulled. */
  readonly isServing: boolean
  /** The number of listed skills that come from MCP servers whose sources have no `folders`. */
  readonly ofUpstream: number
  /** All skills of the MCP servers whose sources have no `folders`. */
  readonly upstream: readonly LeftOut[]
  readonly leftOut: readonly LeftOut[]
}

/** `undefined` if the state folder has not been written yet. */
export async function linkedState(config: LinkingConfig): Promise<LinkedState | undefined> {
  const store = await Store.openExisting(config.state)
  if (store === undefined) return undefined
  await store.decisions.read()
  const { catalog, lost } = await currentState(store, idsOf(config), admissionOf(config), config.rings.at(-1)?.id)
  const fetched = await fetchedIn(catalog, { config, store })
  const linkable = linkableIn(catalog, fetched)
  const servers = new Set(sourcesWithFolders(config).map(({ id }) => id))
  const ofUpstream = catalog.listed.filter(({ source, skill }) => isOfUpstream(skill) && !servers.has(source)).length
  return {
    config,
    store,
    links: await readLinks(config.state),
    linkable,
    meant: new LinkableSkills(linkable),
    offered: offeredIn(catalog),
    lost,
    isServing: catalog.generation > 0,
    ofUpstream,
    upstream: upstreamIn(catalog, servers),
    leftOut: leftOutOf(catalog, linkable, { fetched, servers, pending: pendingOf(catalog, config, store) }),
  }
}

function pendingOf({ snapshots }: Catalog, config: LinkingConfig, { decisions }: Store): ReadonlySet<Skill> {
  const judged = sourcesWithFolders(config).filter(({ approval }) => approval === 'required')
  return new Set(
    snapshots.flatMap((snapshot) =>
      judged.some(({ id }) => id === snapshot.source) ? pendingIn(snapshot, decisions.approvals) : [],
    ),
  )
}

/** The requested skills: all, or those of some sources plus single ones (`source/path`). */
export function wantedOf({ linkable }: ServedLinks, only: LinkFilter | undefined): readonly Linkable[] {
  if (only === undefined) return linkable
  return linkable.filter(
    ({ source, skill }) => only.sources.includes(source) || only.skills.includes(`${source}/${skill.path}`),
  )
}
