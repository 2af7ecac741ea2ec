import { withNeighbours } from '../../../../src/features/author/lint/cross-skill-rules.ts'
import type { LintDiagnostic } from '../../../../src/features/author/lint/diagnostic.ts'
import type { Level } from '../../../../src/features/author/lint/lint-skill.ts'
import { validate } from '../../../../src/features/author/lint/lint.ts'
import { readOfficially } from '../../../../src/serve/official-reader.ts'
import { temporaryWorkspace } from '../../../../src/sync/store/objects/temporary-blobs.ts'
import { readFolder } from '../../../../src/sync/upstream/folder/folder-tree.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import type { Files } from '../../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { never } from '../../../sync/store/samples.ts'
import { rulesWith } from '../../../sync/survey/surveyed.ts'
import type { Edited } from '../../../sync/survey/surveyed.ts'

/** How the files are looked at; all else is as the program does it when nothing is said. */
export interface Looked extends Edited {
  readonly level?: Level
  readonly folder?: string
}

/** What is said of the files when they lie in a folder. */
export async function diagnosticsOf(
  files: Files,
  { level = 'spec', folder, ...edit }: Looked = {},
): Promise<LintDiagnostic[]> {
  await using temporary = await temporaryFolder()
  const at = `${temporary.path}/skills`
  await fillFolder(at, files)
  await using workspace = await temporaryWorkspace()
  const reading = { root: '', docs: undefined, limits: FETCH_LIMITS, blobs: workspace.blobs }
  await using tree = await readFolder(at, reading, never())
  const rules = rulesWith({ hiddenUnicode: 'deceptive', ...edit })
  const validation = await validate(tree, { rules, level, folder, readOfficially }, never())
  const found = withNeighbours([{ source: '', validation }])
  return found.flatMap(({ diagnostics, skills }) => diagnostics.concat(skills.flatMap((skill) => skill.diagnostics)))
}

/** A diagnostic in short: code, file, line and column. */
export function shortOf({ code, path, place }: LintDiagnostic): string {
  return `${code} ${path}:${place.line}:${place.column}`
}

/** A SKILL.md of these lines of frontmatter, and a body. */
export function skillMd(lines: readonly string[], body = '# Do it\n'): string {
  return ['---', ...lines, '---', body].join('\n')
}

export const DESCRIPTION = 'description: Counts beans. Use when the user asks how many beans there are.'

/** A skill with nothing to say of it. */
export function sound(name: string, lines: readonly string[] = [], body?: string): string {
  return skillMd([`name: ${name}`, DESCRIPTION, ...lines], body)
}
