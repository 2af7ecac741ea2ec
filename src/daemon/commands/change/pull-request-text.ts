import { joinPath } from '../../../base/paths.ts'
import { countOf } from '../../../base/text/plural.ts'
import { deltaText } from '../../../sync/catalog/budget/budget-delta.ts'
import type { BudgetDelta } from '../../../sync/catalog/budget/budget-delta.ts'
import { changeGroups, changeWord } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillNote } from '../../../sync/model/changes/skill-notes.ts'
import type { DocsReview, FileReview, SkillReview } from '../../../sync/model/changes/skill-review.ts'
import type { Revision } from '../../../sync/model/revision.ts'
import { withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { printableLine, printableText } from '../../runtime/log/log-line.ts'

/** A moved lock, for its review. All parts are in a fixed order. */
export interface LockReview {
  readonly sources: readonly ReviewedMove[]
  readonly packs: readonly PackMove[]
}

export type ReviewedMove =
  | { readonly source: string; readonly failure: SourceFailure }
  | {
      readonly source: string
      readonly url: string
      /** `undefined` for a source that is new in the lock. */
      readonly from: Revision | undefined
      readonly to: Revision
      /** The numbers of its skills in the lock. */
      readonly before: number
      readonly after: number
      readonly signers: { readonly before: readonly string[]; readonly after: readonly string[] }
      readonly docs: DocsReview | undefined
      /** The changes of what agents list of its skills before they load any. */
      readonly budget: readonly BudgetDelta[]
      readonly skills: readonly SkillReview[]
    }

export interface PackMove {
  readonly pack: string
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Dependencies that the pack lacks, each a sentence. */
  readonly lacks: readonly string[]
}

/**
 * The limit of GitHub for the text of a pull request, in characters. GitLab and Forgejo accept more.
 * https://github.com/dead-claudia/github-limits
 */
export const MOST_BODY_CHARACTERS = 65_536

/** The limit for all lines of comparisons: more have no room, with the marks of the block around them. */
export const MOST_BODY_LINES = MOST_BODY_CHARACTERS / 16

/**
 * The text of a pull request that moves a lock, as Markdown of at most `most` characters. Equal reviews give equal
 * bytes. Foreign text stands in code spans and fenced blocks alone. What does not fit is left out from the end,
 * comparisons first, then skills, and the text says so in its second paragraph.
 */
export function pullRequestText(review: LockReview, most = MOST_BODY_CHARACTERS): string {
  const parts = partsOf(review)
  const total = parts.reduce((sum, { text }) => sum + text.length + GAP, 0) + MOST_CLOSING
  let room = most - total
  const shown = parts.map((part) => {
    if (part.detail === undefined || part.detail.length + GAP > room) return part
    room -= part.detail.length + GAP
    return { text: `${part.text}\n\n${part.detail}`, detail: undefined, isShort: false }
  })
  return total <= most ? joined(shown) : joined(fitting(shown, most))
}

interface Part {
  readonly text: string
  /** A comparison that is shown if there is room. */
  readonly detail: string | undefined
  /** True if it has a comparison that is not shown. */
  readonly isShort: boolean
}

const GAP = 2
const MOST_CLOSING = 200

/** The parts from the start that fit, without comparisons: even the summaries are too long together. */
function fitting(parts: readonly Part[], most: number): (Part | 'cut')[] {
  const kept: (Part | 'cut')[] = []
  let room = most - MOST_CLOSING
  for (const part of parts) {
    room -= part.text.length + GAP
    kept.push(room < 0 ? 'cut' : part)
  }
  return kept
}

function joined(parts: readonly (Part | 'cut')[]): string {
  const texts = parts.flatMap((part) => (part === 'cut' ? [] : [part.text]))
  const cut = parts.length - texts.length
  const withoutDetail = parts.filter((part) => part !== 'cut' && part.isShort).length
  const closing = [
    ...(withoutDetail > 0 ? [`${countOf(withoutDetail, 'comparison')} left out: no room`] : []),
    ...(cut > 0 ? [`${countOf(cut, 'section')} left out: no room`] : []),
  ]
  const end =
    closing.length === 0
      ? []
      : [`**Cut:** ${closing.join('; ')}. \`skillsyncd diff\` on the base branch shows everything.`]
  // Near the top: a commit with many harmless changes must not hide that others are left out.
  const [summary = '', ...rest] = texts
  return `${[summary, ...end, ...rest].join('\n\n')}\n`
}

function partsOf({ sources, packs }: LockReview): Part[] {
  return [
    alone(summaryOf(sources)),
    ...criticalParts(sources),
    ...sources.flatMap(sourceParts),
    ...packs.map((pack) => alone(packText(pack))),
  ]
}

function alone(text: string): Part {
  return { text, detail: undefined, isShort: false }
}

type Moved = Exclude<ReviewedMove, { readonly failure: SourceFailure }>

function movedIn(sources: readonly ReviewedMove[]): Moved[] {
  return sources.flatMap((source) => ('failure' in source || !isMoved(source) ? [] : [source]))
}

function isMoved({ from, to, skills, docs }: Moved): boolean {
  return from?.commit !== to.commit || from.tag !== to.tag || skills.length > 0 || docs !== undefined
}

function summaryOf(sources: readonly ReviewedMove[]): string {
  const moved = movedIn(sources)
  const failed = sources.filter((source) => 'failure' in source)
  const counts = countsText(moved.flatMap(({ skills }) => skills))
  const moves = moved.length === 0 ? 'No source moved.' : `${countOf(moved.length, 'source')} moved: ${counts}.`
  return failed.length === 0 ? moves : `${moves} ${countOf(failed.length, 'source')} could not be updated.`
}

function countsText(skills: readonly SkillReview[]): string {
  const parts = changeGroups(skills).map(({ change, count }) => `${countOf(count, 'skill')} ${changeWord(change)}`)
  return parts.length === 0 ? 'no skill changed' : parts.join(', ')
}

/**
 * The facts that a reviewer needs before all others, of all sources, the first of each skill first: one skill with many
 * must not push out those of others. Bounded: each is at its skill too.
 */
function criticalParts(sources: readonly ReviewedMove[]): Part[] {
  const moved = movedIn(sources)
  const lines = [
    ...moved.filter(hasOtherSigners).map(({ source }) => `- ${codeSpan(source)}: its signers changed`),
    ...moved
      .flatMap(({ source, skills, docs }) => {
        const ofSkills = skills.map(({ path, notes }) => ({ place: joinPath(source, path), notes }))
        return docs === undefined
          ? ofSkills
          : ofSkills.concat({ place: `${source}: the docs folder`, notes: docs.notes })
      })
      .flatMap(({ place, notes }) =>
        notes.filter(({ isCritical }) => isCritical).map((note, index) => ({ place, note, index })),
      )
      .toSorted((a, b) => a.index - b.index)
      .map(({ place, note }) => `- ${codeSpan(place)}: ${noteText(note)}`),
  ]
  if (lines.length === 0) return []
  const left = lines.length - MOST_CRITICAL
  const more = left > 0 ? [`- and ${left} more, at their skills`] : []
  return [alone(['### Review first', '', ...lines.slice(0, MOST_CRITICAL), ...more].join('\n'))]
}

const MOST_CRITICAL = 30

function hasOtherSigners({ from, signers: { before, after } }: Moved): boolean {
  return from !== undefined && before.join('\n') !== after.join('\n')
}

function noteText({ text, values }: SkillNote): string {
  return `${text} ${values.map(codeSpan).join(', ')}`
}

function sourceParts(move: ReviewedMove): Part[] {
  if ('failure' in move) {
    const { source, failure } = move
    return [
      alone(`### Source ${codeSpan(source)}\n\nNot updated: ${codeSpan(failure.code)} ${codeSpan(failure.message)}`),
    ]
  }
  if (!isMoved(move)) return []
  const docs = move.docs === undefined ? [] : [docsPart(move.source, move.docs)]
  return [alone(sourceText(move)), ...move.skills.map((skill) => skillPart(move.source, skill)), ...docs]
}

function sourceText({ source, url, from, to, before, after, signers, docs, budget, skills }: Moved): string {
  return [
    `### Source ${codeSpan(source)}`,
    '',
    `- from ${from === undefined ? 'nothing' : placeText(from)}`,
    `- to ${placeText(to)}`,
    `- of ${codeSpan(url)}`,
    `- ${countOf(before, 'skill')} before, ${after} after: ${countsText(skills)}`,
    ...(docs === undefined ? [] : [`- the docs folder is ${docs.change}`]),
    ...(budget.length === 0 ? [] : [`- context budget: ${deltaText(budget)}`]),
    ...signers.before.filter((text) => !signers.after.includes(text)).map((text) => `- was signed: ${codeSpan(text)}`),
    ...signers.after.map((text) => `- signed: ${codeSpan(text)}`),
  ].join('\n')
}

function placeText({ ref, commit, tag }: Revision): string {
  return `${codeSpan(ref)} at ${codeSpan(commit)}${tag === undefined ? '' : ` (tag object ${codeSpan(tag)})`}`
}

function skillPart(source: string, { path, change, from, notes, files }: SkillReview): Part {
  const was = change === 'renamed' && from !== undefined && from.path !== path ? `${codeSpan(from.path)} is ` : ''
  return contentPart(`#### ${was}${codeSpan(joinPath(source, path))}: ${changeWord(change)}`, notes, files)
}

function docsPart(source: string, { change, notes, files }: DocsReview): Part {
  return contentPart(`#### The docs folder of ${codeSpan(source)}: ${change}`, notes, files)
}

function contentPart(head: string, notes: readonly SkillNote[], files: readonly FileReview[]): Part {
  const all = [...notes.map(noteText), ...files.flatMap(notShownText)]
  const shown = all.slice(0, MOST_NOTES)
  const left = all.length - shown.length
  const lines = [...shown.map((text) => `- ${text}`), ...(left > 0 ? [`- and ${countOf(left, 'more note')}`] : [])]
  const text = lines.length === 0 ? head : `${head}\n\n${lines.join('\n')}`
  const blocks = files.flatMap(fileBlock)
  const isShort = blocks.length > 0 || files.some(({ diff }) => diff !== undefined && 'why' in diff)
  return { text, detail: blocks.length === 0 ? undefined : blocks.join('\n\n'), isShort }
}

/** A file whose lines are not here, by its size and digest. */
function notShownText({ path, isProgram, size, sha256, diff }: FileReview): string[] {
  if (diff === undefined || !('why' in diff)) return []
  return [
    `${isProgram ? 'program ' : ''}${codeSpan(path)} is not shown: ${codeSpan(diff.why)}; ${size} bytes, sha256 ${sha256}`,
  ]
}

function fileBlock({ path, diff }: FileReview): string[] {
  if (diff === undefined || 'why' in diff || diff.hunks.length === 0) return []
  const lines = diff.hunks.flatMap(({ from, to, lines: changed }) => [`@@ -${from} +${to} @@`, ...changed])
  return [`${codeSpan(path)}\n\n${diffBlock(lines, MOST_DIFF_LINES)}`]
}

const MOST_NOTES = 20
const MOST_DIFF_LINES = 120

function packText({ pack, added, removed, lacks }: PackMove): string {
  const list = (what: string, places: readonly string[]): string[] => {
    const left = places.length - MOST_NOTES
    const more = left > 0 ? [`- and ${left} more ${what}`] : []
    return [...places.slice(0, MOST_NOTES).map((place) => `- ${what}: ${codeSpan(place)}`), ...more]
  }
  return [
    `### Pack ${codeSpan(pack)}`,
    '',
    ...list('its clients get', added),
    ...list('its clients lose', removed),
    ...list('note', lacks),
  ].join('\n')
}

/**
 * Foreign text as a code span of CommonMark, on one line. In a code span, git hosts read no link, mention, HTML, issue
 * reference or command, and no text ends the span: its fence is longer than each run of backticks in it. Invisible
 * characters are escaped.
 */
export function codeSpan(foreign: string): string {
  const text = visible(foreign, MOST_IN_LINE)
  if (text.trim() === '') return '(empty)'
  const fence = '`'.repeat(longestRun(text) + 1)
  // A reader removes one space on both sides, so a text with a space or a backtick at an end gets one more.
  const pad = /^[ `]|[ `]$/.test(text) ? ' ' : ''
  return `${fence}${pad}${text}${pad}${fence}`
}

/**
 * The lines of a comparison as a fenced block, at most `most`, and then their number that is left out. No line ends the
 * block.
 */
export function diffBlock(lines: readonly string[], most: number): string {
  const shown = lines.slice(0, most).map((line) => visible(line, MOST_IN_LINE, true))
  const left = lines.length - shown.length
  const fence = '`'.repeat(Math.max(2, ...shown.map(longestRun)) + 1)
  const block = [`${fence}diff`, ...shown, fence]
  return (left > 0 ? [...block, '', `${left} more lines are not shown.`] : block).join('\n')
}

const MOST_IN_LINE = 300

/** Cut before and after it is escaped, since an escape is longer, and never within one. */
function visible(text: string, most: number, keepTabs = false): string {
  const bounded = text.slice(0, most).toWellFormed()
  const escaped = withHiddenEscaped(keepTabs ? printableText(bounded) : printableLine(bounded))
  if (escaped.length <= most && text.length <= most) return escaped
  return `${escaped
    .slice(0, most)
    .replace(/\\(?:u(?:\{[\da-f]*)?)?$/i, '')
    .toWellFormed()}…`
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
}
