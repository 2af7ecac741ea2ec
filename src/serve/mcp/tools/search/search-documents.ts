import type { Offered } from '../../../../sync/catalog/tool-catalog.ts'
import { isOfUpstream } from '../../../../sync/model/skill.ts'
import type { SkillFile } from '../../../../sync/model/skill.ts'
import { SyncError } from '../../../../sync/model/sync-error.ts'
import type { StoredSkill } from '../../../../sync/store/skills/stored-path.ts'
import { storedOf } from '../../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../../sync/store/store.ts'
import { HEADED_BYTES, headingsIn } from './headings.ts'
import { searchableOf } from './searchable.ts'
import type { Searchable } from './searchable.ts'

/** A skill as it is searched, with the place of its headings. Plain data. */
export interface Searched {
  readonly text: Searchable
  readonly document?: StoredDocument
}

/** A SKILL.md in the store. */
export interface StoredDocument {
  readonly skill: StoredSkill
  readonly file: SkillFile
}

/** The data for searching a skill. Makes no request to other MCP servers, so their skills have no headings here. */
export function searchedOf(offered: Offered): Searched {
  const text = searchableOf(offered)
  const { skill } = offered
  const file = skill.files.find(({ path }) => path === 'SKILL.md')
  if (file === undefined || file.size > HEADED_BYTES || isOfUpstream(skill)) return { text }
  return { text, document: { skill: { ...storedOf(skill), files: [] }, file } }
}

/** The headings of a stored SKILL.md; `undefined` if it is damaged or gone, which serving the file handles. */
export async function headingsOf(store: Store, { skill, file }: StoredDocument): Promise<string | undefined> {
  try {
    return headingsIn(await store.skills.read(skill, file))
  } catch (error) {
    if (error instanceof SyncError) return undefined
    throw error
  }
}
