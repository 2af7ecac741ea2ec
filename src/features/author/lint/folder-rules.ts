import { baseName, joinPath } from '../../../base/paths.ts'
import { isMarkdown } from '../../../sync/skill/markdown/markdown-file.ts'
import type { LintDiagnostic, LintCode } from './diagnostic.ts'
import { START } from './lines.ts'
import type { Authored } from './lint-input.ts'

/**
 * Finds files in folders with another purpose: scripts are run, references are read, assets are copied into the output.
 */
export function folderDiagnostics(skill: Authored): LintDiagnostic[] {
  const diagnostic = (code: LintCode, path: string, message: string): LintDiagnostic => {
    return { code, path: joinPath(skill.path, path), place: START, message }
  }
  const diagnostics: LintDiagnostic[] = []
  const misnamed = new Set<string>()
  for (const { path, executable } of skill.ownFiles) {
    const [top = ''] = path.split('/')
    const meant = path.includes('/') ? MEANT.get(top.toLowerCase()) : undefined
    if (meant !== undefined && top !== meant && !misnamed.has(top)) {
      misnamed.add(top)
      diagnostics.push(diagnostic('folder-name', path, `The folder "${top}" should be called "${meant}"`))
    }
    const code = ruleOf(path, executable)
    if (code !== undefined) diagnostics.push(diagnostic(code, path, MESSAGES[code]))
  }
  return diagnostics
}

type Misplaced = 'script-outside-scripts' | 'script-in-references' | 'text-in-scripts'

const MESSAGES: Readonly<Record<Misplaced, string>> = {
  'script-outside-scripts': 'The file is executable and is outside scripts/',
  'script-in-references': 'The file is executable and is in references/',
  'text-in-scripts': 'The file is a document and is in scripts/',
}

/** Other names of these folders in collections, and near misses by a letter. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['script', 'scripts'],
  ['scripts', 'scripts'],
  ['reference', 'references'],
  ['references', 'references'],
  ['ref', 'references'],
  ['refs', 'references'],
  ['doc', 'references'],
  ['docs', 'references'],
  ['asset', 'assets'],
  ['assets', 'assets'],
])

function ruleOf(path: string, executable: boolean): Misplaced | undefined {
  const folders = path.split('/').slice(0, -1)
  const [top] = folders
  if (top === 'scripts') return isDocument(path) ? 'text-in-scripts' : undefined
  if (!executable || !isProgram(path)) return undefined
  if (top === 'references') return 'script-in-references'
  // Programs that are copied into the output, and those of a skill inside this one.
  if (top === 'assets' || folders.includes('scripts') || folders.includes('bin')) return undefined
  return 'script-outside-scripts'
}

/** A disk without permissions reports every file as executable, so the name counts too. */
function isProgram(path: string): boolean {
  const name = baseName(path)
  return PROGRAM.test(name) || /^[a-z][a-z\d_-]*$/.test(name)
}

/** Endings that interpreters, shells and systems run. A program without an ending has a lower-case name. */
const PROGRAM =
  /\.(?:[bckz]?sh|bash|fish|awk|bat|cmd|ps1|exe|com|bin|run|out|jar|py|rb|p[lm]|php|lua|tcl|r|jl|[cm]?[jt]s|go|rs|swift|exs?)$/i

/** A README describes its folder, and belongs there. */
function isDocument(path: string): boolean {
  return isMarkdown(path) && !/^readme\b/i.test(baseName(path))
}
