import type { Offered } from '../../../../sync/catalog/tool-catalog.ts'
import { isOfUpstream } from '../../../../sync/model/skill.ts'
import type { SkillFile } from '../../../../sync/model/skill.ts'
import { SyncError } from '../../../../sync/model/sync-error.ts'
import { bodyOf, utf8 } from '../../../../sync/skill/frontmatter.ts'
import type { StoredSkill } from '../../../../sync/store/skills/stored-path.ts'
import { storedOf } from '../../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../../sync/store/store.ts'
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

/** A larger SKILL.md is not read for its headings. */
const HEADED_BYTES = 2 ** 20

/**
 * Returns the headings of a SKILL.md, one per line; empty if the file is not text. Lines within code fences are never
 * headings.
 */
export function headingsIn(document: Uint8Array): string {
  const text = utf8(bodyOf(document) ?? document)
  if (text === undefined) return ''
  const headings: string[] = []
  let characters = 0
  let fence: string | undefined
  for (const [line] of text.matchAll(MARKED_LINES)) {
    const mark = FENCE.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence)) fence = undefined
    } else if (mark !== undefined) fence = mark
    else {
      const heading = line
        .replace(/^ {0,3}#+/, '')
        .trim()
        .slice(0, HEADING_CHARACTERS)
      characters += heading.length + 1
      if (characters > MOST_CHARACTERS) break
      headings.push(heading)
    }
  }
  return headings.join('\n')
}

/** Matches lines that are a heading, or that open or close a fence. */
const MARKED_LINES = /^ {0,3}(?:#{1,6}[ \t]|`{3}|~{3}).*$/gm
const FENCE = /^ {0,3}(`{3,}|~{3,})/

const HEADING_CHARACTERS = 200
const MOST_CHARACTERS = 4_096
