import { ENROLLMENT_CHECKS, MACHINE_CHECKS, STORE_FINDINGS } from '../../../src/daemon/cli/check-names.ts'
import { LOG_EVENTS } from '../../../src/daemon/commands/explain/log-events.ts'
import { OPERATOR_ERRORS } from '../../../src/daemon/runtime/operator-error.ts'
import type { LintCode } from '../../../src/features/author/lint/diagnostic.ts'
import { describeCode, lintCodes } from '../../../src/features/author/lint/rule-texts.ts'

/** The text with each table between `<!-- codes NAME -->` and `<!-- end -->` made anew from what the program has. */
export function withCodeTables(text: string): string {
  return text.replaceAll(/(<!-- codes ([a-z-]+) -->\n)[^]*?(?=\n<!-- end -->)/g, (_, start: string, name: string) => {
    const rows = TABLES[name]
    if (rows === undefined) throw new Error(`No table is called "${name}"`)
    return `${start}\n${rows().join('\n')}\n`
  })
}

/** The names of the tables, each of which a document has. */
export const CODE_TABLES = (): readonly string[] => Object.keys(TABLES)

interface Told {
  readonly meaning: string
  readonly fix?: string
}

const TABLES: Readonly<Record<string, () => readonly string[]>> = {
  'log-events': () => table(['Event', 'Meaning', 'Do'], rowsOf(LOG_EVENTS, both)),
  'operator-errors': () =>
    table(
      ['Code', 'Meaning', 'Exit status'],
      Object.entries(OPERATOR_ERRORS).map(([code, { meaning, status }]) => [`\`${code}\``, meaning, String(status)]),
    ),
  'machine-checks': () =>
    table(
      ['Check', 'Looks at'],
      rowsOf(MACHINE_CHECKS, ({ meaning }) => [meaning]),
    ),
  'store-findings': () => table(['Finding', 'Meaning', 'Do'], rowsOf(STORE_FINDINGS, both)),
  'enrollment-checks': () => table(['Check', 'Meaning', 'Do'], rowsOf(ENROLLMENT_CHECKS, both)),
  rules: () => ruleTables(),
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
  const { says, mend } = describeCode(code)
  return [`\`${code}\``, prose(says), prose(mend)]
}

/** A text without characters that Markdown takes for marks. */
function prose(text: string): string {
  return escaped(text).replaceAll(/[<*]|_(?=_)|(?<=_)_/g, String.raw`\$&`)
}

function both({ meaning, fix = 'as the line says' }: Told): readonly string[] {
  return [meaning, fix]
}

function rowsOf(rules: Readonly<Record<string, Told>>, cells: (told: Told) => readonly string[]): readonly string[][] {
  return Object.entries(rules).map(([code, told]) => [`\`${code}\``].concat(cells(told)))
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`)
}

function escaped(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}
