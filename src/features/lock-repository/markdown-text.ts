import { printableLine, printableText } from '../../daemon/runtime/log/log-line.ts'
import { withHiddenEscaped } from '../../sync/skill/hidden-unicode.ts'

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
