import { describeHidden } from '../../skill/hidden-unicode.ts'
import { lifecycleLines, lifecycleOf } from '../../skill/lifecycle.ts'
import type { SkillDiagnostic } from '../../skill/skill-diagnostic.ts'
import { comparePaths } from '../digest.ts'
import type { Skill, SkillFile } from '../skill.ts'

/** One fact about a moved skill for a reviewer. */
export interface SkillNote {
  /** True for what runs, hidden characters, or what the skill may do without a question. */
  readonly isCritical: boolean
  /** Fixed text. */
  readonly text: string
  /** Foreign text, in the order of the sentence. */
  readonly values: readonly string[]
}

/**
 * The facts about a skill that moved, what it may do first. `before` or `after` is `undefined` if there is none, or the
 * store lacks it.
 */
export function notesOf(before: Skill | undefined, after: Skill | undefined): readonly SkillNote[] {
  if (after === undefined) return []
  return [
    // No number of files may push these out of the text.
    ...fieldNotes(before, after),
    ...hiddenNotes(before, after),
    ...scriptNotes(before, after),
    ...lifecycleNotes(before, after),
    ...findingNotes(before, after),
  ]
}

function scriptNotes(before: Skill | undefined, after: Skill): SkillNote[] {
  const known = filesOf(before)
  const programs = after.files.filter((file) => isProgram(file, after))
  const kindOf = (file: SkillFile): string => {
    const was = known.get(file.path)
    if (was === undefined) return 'new'
    if (!was.executable && file.executable) return 'newly executable'
    return was.sha256 === file.sha256 ? 'same' : 'changed'
  }
  const byKind = Map.groupBy(programs, kindOf)
  return ['new', 'newly executable', 'changed'].flatMap((kind) => {
    const paths = (byKind.get(kind) ?? []).map(({ path }) => path)
    return paths.length === 0 ? [] : [programsNote(kind, paths)]
  })
}

/** One note for all programs of a kind: a note for each could fill the text. */
function programsNote(kind: string, paths: readonly string[]): SkillNote {
  if (paths.length === 1) return criticalNote(`${kind} program`, paths)
  const isCut = paths.length > MOST_PATHS
  const text = `${paths.length} ${kind} programs${isCut ? `, of which the first ${MOST_PATHS} are` : ''}`
  return criticalNote(text, paths.slice(0, MOST_PATHS))
}

const MOST_PATHS = 10

/** True for a file that an agent may run: executable, in a folder `scripts`, or with the ending of a program. */
export function isProgram({ path, executable }: SkillFile, { upstream }: Pick<Skill, 'upstream'>): boolean {
  if (executable || upstream?.executables?.includes(path) === true) return true
  return path.split('/').slice(0, -1).includes('scripts') || PROGRAM.test(path)
}

const PROGRAM =
  /\.(?:bash|bat|cjs|cmd|cts|exe|fish|jar|js|jsx|lua|mjs|mts|php|pl|ps1|psm1|py|rb|sh|ts|tsx|vbs|wasm|zsh)$|(?:^|\/)Makefile$/i

/** The notes about hidden characters in files that are new or changed, of a skill or of docs. */
export function hiddenNotes(before: WithFiles | undefined, after: WithFiles): readonly SkillNote[] {
  const known = filesOf(before)
  return after.files.flatMap(({ path, sha256, hidden }) =>
    hidden === undefined || known.get(path)?.sha256 === sha256
      ? []
      : [criticalNote('hidden characters', [path, describeHidden(hidden)])],
  )
}

type WithFiles = Pick<Skill, 'files'>

function filesOf(content: WithFiles | undefined): ReadonlyMap<string, SkillFile> {
  return new Map((content?.files ?? []).map((file) => [file.path, file]))
}

function fieldNotes(before: Skill | undefined, after: Skill): SkillNote[] {
  return FIELDS.flatMap(({ field, name, isCritical }) => {
    const [was, is] = [fieldText(before, field), fieldText(after, field)]
    if (was === is) return []
    if (was === undefined) return [{ isCritical, text: name, values: [is ?? ''] }]
    return [{ isCritical, text: `${name} changed`, values: is === undefined ? [was, '(none)'] : [was, is] }]
  })
}

const FIELDS = [
  { field: 'license', name: 'license', isCritical: false },
  { field: 'allowed-tools', name: 'tools without a question', isCritical: true },
  { field: 'hooks', name: 'hooks', isCritical: true },
] as const

function fieldText(skill: Skill | undefined, field: string): string | undefined {
  const { frontmatter } = skill ?? {}
  if (frontmatter === undefined || !Object.hasOwn(frontmatter, field)) return undefined
  const value = frontmatter[field]
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function lifecycleNotes(before: Skill | undefined, after: Skill): SkillNote[] {
  const [was, is] = [before, after].map((skill) => lifecycleLines(lifecycleOf(skill)))
  const isDeprecation = (line: string): boolean => line.startsWith('deprecated')
  return [
    ...(is ?? []).filter((line) => !was?.includes(line)).map((line) => note(isDeprecation(line), 'declares', line)),
    ...(was ?? []).filter((line) => !is?.includes(line)).map((line) => note(false, 'no longer declares', line)),
  ]
}

function note(isCritical: boolean, text: string, value: string): SkillNote {
  return { isCritical, text, values: [value] }
}

function findingNotes(before: Skill | undefined, after: Skill): SkillNote[] {
  const known = new Set((before?.findings ?? []).map(({ rule, message }) => `${rule} ${message}`))
  const fresh = after.findings.filter(({ rule, message }) => !known.has(`${rule} ${message}`))
  const isWithheld = after.standing === 'withheld'
  const isCritical = ({ rule }: SkillDiagnostic): boolean => isWithheld || rule === 'kept-version'
  return fresh
    .toSorted((a, b) => comparePaths(a.rule, b.rule))
    .map((one) => ({
      isCritical: isCritical(one),
      text: isWithheld ? 'withheld' : 'finding',
      values: [one.rule, one.message],
    }))
}

/** A note about what runs, or what the skill may do. */
export function criticalNote(text: string, values: readonly string[]): SkillNote {
  return { isCritical: true, text, values }
}
