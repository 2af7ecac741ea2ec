import { isSkillName } from '../skill-md/skill-name.ts'
import type { Authored } from './lint-input.ts'
import type { Flaw } from './diagnostic.ts'
import { positionOf } from './document-positions.ts'

/** A survey allows any folder name for the skill at the top of a source; the specification does not. */
export function topFolderFlaws({ path, folder, frontmatter, document, documentName }: Authored): Flaw[] {
  const name = frontmatter?.['name']
  if (path !== '' || folder === undefined || document === undefined) return []
  if (typeof name !== 'string' || !isSkillName(name) || name === folder) return []
  const message = `The name "${name}" is not the name of its folder "${folder}"`
  return [{ rule: 'name-unlike-folder', path: documentName, place: positionOf(document, ['name'], 'value'), message }]
}
