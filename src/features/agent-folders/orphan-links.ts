import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../../daemon/config/config.ts'
import { isSkillName } from '../../sync/skill/skill-name.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { StateFolder } from '../../sync/store/files/state-folder.ts'
import { SkillLinks } from '../../sync/store/skills/skill-links.ts'
import { foundAt } from './agent-folder.ts'
import type { LinkEntry } from './link-record.ts'

/** The links in a folder that lead to our `links/`. They are ours even if their record was lost. */
export async function orphanLinks(folder: string, { state, limits }: Config): Promise<ReadonlyMap<string, LinkEntry>> {
  // The state folder itself may be lost.
  const links = new SkillLinks(new StateFolder(resolve(state)))
  const strays = new Map<string, LinkEntry>()
  for (const name of (await unlessAbsent(readdir(folder))) ?? []) {
    if (!isSkillName(name)) continue
    const entry = strayEntry(name, links)
    const { kind } = await foundAt(join(folder, name), entry, limits.skill)
    if (kind === 'link') strays.set(name, entry)
  }
  return strays
}

/** The known data of a link whose record was lost. */
export function strayEntry(name: string, links: SkillLinks): LinkEntry {
  return { targets: [links.pathOf(name)], digests: [] }
}
