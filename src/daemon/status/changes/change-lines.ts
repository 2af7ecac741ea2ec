import type { PluginChange, PluginSkill } from '../../../sync/model/changes/plugin-changes.ts'
import { changeGroups, changeWord, namesText, nameText } from '../../../sync/model/changes/skill-changes.ts'
import type { ChangeGroup, NamedChange } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillNote } from '../../../sync/model/changes/skill-notes.ts'
import type { DocsReview, FileReview, SkillReview } from '../../../sync/model/changes/skill-review.ts'
import { printableLine, printableText } from '../../runtime/log/log-line.ts'

/** The changes as lines of text: one for each kind, and one for each skill that has a reason. */
export function linesOfChanges(groups: readonly ChangeGroup[]): string[] {
  return groups.flatMap((group) => {
    const { change, count, first } = group
    const word = changeWord(change).padEnd(8)
    if (first.every(({ reason }) => reason === undefined)) return [printableLine(`${word} ${namesText(group)}`)]
    const left = count - first.length
    return [
      ...first.map((one) => printableLine(`${word} ${nameText(one)}${reasonText(one)}`)),
      ...(left > 0 ? [`${word} and ${left} more`] : []),
    ]
  })
}

function reasonText({ reason }: NamedChange): string {
  return reason === undefined ? '' : `: ${reason.code}: ${reason.message}`
}

/**
 * A changed skill as lines of text: what became of it, what a person should know first, and the changed lines of each
 * file, programs first.
 */
export function reviewLines(review: SkillReview): string[] {
  const { change, notes, files } = review
  const [named] = changeGroups([review]).flatMap(({ first }) => first)
  return [
    printableLine(
      `${changeWord(change).padEnd(8)} ${named === undefined ? '' : nameText(named) + keptText(review) + reasonText(named)}`,
    ),
    ...notes.map(noteLine),
    ...files.flatMap(fileLines),
  ]
}

/** The changed docs folder as lines of text, in the same form. */
export function docsLines({ change, notes, files }: DocsReview): string[] {
  return [`${change.padEnd(8)} the docs folder`, ...notes.map(noteLine), ...files.flatMap(fileLines)]
}

/** The skills that a plugin of a marketplace has more and no longer, all of them. */
export function pluginLine({ plugin, change, gains, loses }: PluginChange): string {
  const namesOf = (verb: string, skills: readonly PluginSkill[]): string[] =>
    skills.length === 0 ? [] : [`${verb} ${skills.map(nameText).join(', ')}`]
  const moves = [...namesOf('gains', gains), ...namesOf('loses', loses)]
  return printableLine(`${change.padEnd(8)} the plugin "${plugin}"${moves.length === 0 ? '' : `: ${moves.join('; ')}`}`)
}

function noteLine({ isCritical, text, values }: SkillNote): string {
  return `  ${isCritical ? '!' : '·'} ${text} ${values.map(quoted).join(', ')}`
}

function keptText({ to }: SkillReview): string {
  if (to?.keptFrom === undefined) return ''
  return `: the version of commit ${to.keptFrom}, because its later one is broken`
}

function quoted(value: string): string {
  return `"${printableLine(value)}"`
}

function fileLines({ path, change, isProgram, size, sha256, diff }: FileReview): string[] {
  const what = change === 'mode' ? 'changed mode' : change
  const head = `  ${what} ${isProgram ? 'program ' : ''}${printableLine(path)}`
  if (diff === undefined) return [head]
  if ('why' in diff) return [`${head}: ${diff.why}; ${size} bytes, sha256 ${sha256}`]
  const lines = diff.hunks.flatMap(({ from, to, lines: changed }) => [`@@ -${from} +${to} @@`, ...changed])
  return [head, ...lines.map((line) => `    ${printableText(line)}`)]
}
