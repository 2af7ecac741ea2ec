import { explainedCodes } from '../../../src/features/author/explain/code-list.ts'
import type { ExplainedCode } from '../../../src/features/author/explain/code-list.ts'
import type { LintCode } from '../../../src/features/author/lint/diagnostic.ts'
import { describeCode, lintCodes } from '../../../src/features/author/lint/rule-texts.ts'
import { isSkillCode } from '../../../src/sync/model/code-descriptions.ts'

/** The text with each list between `<!-- codes NAME -->` and `<!-- end -->` made anew from what `explain` prints. */
export function withCodeTables(text: string): string {
  return text.replaceAll(/(<!-- codes ([a-z-]+) -->\n)[^]*?(?=\n<!-- end -->)/g, (_, start: string, name: string) => {
    const list = LISTS[name]
    if (list === undefined) throw new Error(`No list is called "${name}"`)
    return `${start}\n${list()}\n`
  })
}

/** The names of the lists, each of which a document has. */
export const CODE_TABLES = (): readonly string[] => Object.keys(LISTS)

const LISTS: Readonly<Record<string, () => string>> = {
  'error-codes': () => {
    const codes = of('problem of a source')
    const groups = [...new Set(codes.map(({ effect }) => effect))].map((effect) =>
      [`**${effect}:**`, ...codes.filter((code) => code.effect === effect).map(headed)].join('\n\n'),
    )
    return groups.join('\n\n')
  },
  findings: () =>
    of('finding in a skill')
      .filter(({ code }) => isSkillCode(code))
      .map(({ code, effect, meaning }) => `### ${code}\n\n**${effect.split(':')[0]}.** ${prose(meaning)}.`)
      .join('\n\n'),
  'log-events': () => {
    const elsewhere = new Set(of('finding of verify').map(({ code }) => code))
    return lines(
      events().filter(({ code, fix }) => !isNothing(fix) && !isAsSaid(fix) && !elsewhere.has(code)),
      nextStep,
    )
  },
  'log-by-message': () => names(events().filter(({ fix }) => isAsSaid(fix))),
  'log-news': () => names(events().filter(({ fix }) => isNothing(fix))),
  'operator-errors': () => names(of('error of a command')),
  'machine-checks': () => names(of('check of doctor')),
  'store-findings': () => lines(of('finding of verify')),
  'state-problems': () => lines(of('problem in status')),
  'skill-problems': () => names(of('problem of a skill')),
  'enrollment-checks': () => names(of('check of enroll')),
  rules: () => ruleTables().join('\n'),
}

/** The rules for authors: a table for each severity and authority, in the order in which they first appear. */
function ruleTables(): readonly string[] {
  const groups = Map.groupBy(lintCodes(), (code) => {
    const { severity, by } = describeCode(code)
    return `${severity}s by ${by}`
  })
  const head = [
    ['Rule', 'Problem', 'Fix'],
    ['---', '---', '---'],
  ]
  return [...groups]
    .flatMap(([title, group]) => {
      const heading = `### ${title.charAt(0).toUpperCase()}${title.slice(1)}`
      return ['', heading, ''].concat(head.concat(group.map(ruleRow)).map((cells) => cells.join(' | ')))
    })
    .slice(1)
}

function ruleRow(code: LintCode): string[] {
  const { says, fix } = describeCode(code)
  return [`\`${code}\``, prose(says), prose(fix)]
}

/** A text without characters that Markdown takes for marks. */
function prose(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll(/[<*]|_(?=_)|(?<=_)_/g, String.raw`\$&`)
}

type Told = Pick<ExplainedCode, 'code' | 'meaning' | 'fix'>

function of(kind: string): readonly ExplainedCode[] {
  return explainedCodes().filter((code) => code.kind === kind)
}

function headed(code: Told): string {
  return `### ${code.code}\n\n${told(code)}`
}

/** Codes with one text share a line. */
function lines(codes: readonly Told[], textOf = told): string {
  const texts = [...new Set(codes.map(textOf))]
  return texts.map((text) => `- ${names(codes.filter((code) => textOf(code) === text))}: ${text}`).join('\n')
}

function names(codes: readonly Told[]): string {
  return codes.map(({ code }) => `\`${code}\``).join(', ')
}

/** The meaning and the fix as sentences. A fix that only leads to the message is left out, and what the chapter says. */
function told(code: Told): string {
  return isAsSaid(code.fix) ? prose(`${code.meaning}.`) : `${prose(code.meaning)}. ${nextStep(code)}`
}

function nextStep({ fix }: Told): string {
  const short = fix
    .replace(REVIEW, 'Review it')
    .replace(DECIDE, 'approve or reject it')
    .replace(APPROVE_LAST, 'approve it')
  return prose(short.startsWith('skillsyncd') ? `${short}.` : `${short.charAt(0).toUpperCase()}${short.slice(1)}.`)
}

const REVIEW = 'Review it with skillsyncd diff served upstream --only SOURCE'
const APPROVE = 'skillsyncd approve SOURCE ID'
const DECIDE = `${APPROVE} or skillsyncd reject SOURCE ID`
/** Where it is a step, and not the subject of a sentence. */
const APPROVE_LAST = new RegExp(`${APPROVE}(?=;|$)`)

function events(): readonly ExplainedCode[] {
  return of('event of the log')
}

function isNothing(fix: string): boolean {
  return fix === 'Nothing'
}

function isAsSaid(fix: string): boolean {
  return fix === 'The message has the next step'
}
