import { currentCatalog } from '../../sync/publisher.ts'
import type { Linkable } from './meant-skills.ts'
import { offeredIn } from '../../sync/model/offered.ts'
import type { OfferedSkills } from '../../sync/model/offered.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import { Store } from '../../sync/store/store.ts'
import { admissionOf } from '../admission.ts'
import { idsOf } from '../config.ts'
import type { Config } from '../config.ts'
import { leftOutOf, upstreamIn } from './left-out.ts'
import type { LeftOut } from './left-out.ts'
import { readLinks } from './links-file.ts'
import type { Links, Only } from './links.ts'
import { MeantSkills, linkableIn } from './meant-skills.ts'

/** What is served and what is linked, at one moment. */
export interface LinkedState {
  readonly config: Config
  readonly store: Store
  readonly links: Links
  readonly linkable: readonly Linkable[]
  readonly meant: MeantSkills
  /** The skills that tools offer of it, by the ids that search prints. */
  readonly offered: OfferedSkills
  /** There is a generation: something was pulled. */
  readonly isServing: boolean
  /** How many skills in the lists are of other MCP servers. */
  readonly ofUpstream: number
  /** All skills of other MCP servers. */
  readonly upstream: readonly LeftOut[]
  readonly leftOut: readonly LeftOut[]
}

/** Undefined where nobody has written the state folder yet. */
export async function linkedState(config: Config): Promise<LinkedState | undefined> {
  const store = await Store.openExisting(config.state)
  if (store === undefined) return undefined
  await store.decisions.read()
  const catalog = await currentCatalog(store, idsOf(config), admissionOf(config))
  const linkable = linkableIn(catalog)
  const ofUpstream = catalog.listed.filter(({ skill }) => isOfUpstream(skill)).length
  return {
    config,
    store,
    links: await readLinks(config.state),
    linkable,
    meant: new MeantSkills(linkable),
    offered: offeredIn(catalog),
    isServing: catalog.generation > 0,
    ofUpstream,
    upstream: upstreamIn(catalog),
    leftOut: leftOutOf(catalog, linkable),
  }
}

/** The skills that were asked for: all, or those of some sources and some by themselves (`source/path`). */
export function wantedOf({ linkable }: LinkedState, only: Only | undefined): readonly Linkable[] {
  if (only === undefined) return linkable
  return linkable.filter(
    ({ source, skill }) => only.sources.includes(source) || only.skills.includes(`${source}/${skill.path}`),
  )
}
