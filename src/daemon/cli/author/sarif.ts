import { isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VERSION } from '../../../serve/version.ts'
import type { Rule } from '../../../sync/lint/diagnostic.ts'
import { allRules, sheetOf } from '../../../sync/lint/rules.ts'
import type { Report, Reported } from './report.ts'

/** The report in the form that code hosts show beside the lines, SARIF 2.1.0, with paths from where the program was run. */
export function sarifOf({ findings }: Report, workingFolder: string): object {
  const rules = allRules()
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillsyncd', semanticVersion: VERSION, rules: rules.map(descriptorOf) } },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => resultOf(finding, rules, uriOf(finding, workingFolder))),
      },
    ],
  }
}

function descriptorOf(rule: Rule): object {
  const { severity, by, says, mend } = sheetOf(rule)
  return {
    id: rule,
    shortDescription: { text: says },
    help: { text: `Fix: ${mend}` },
    defaultConfiguration: { level: severity },
    properties: { by },
  }
}

function resultOf(finding: Reported, rules: readonly Rule[], uri: string): object {
  const { rule, sheet, message, line, column } = finding
  return {
    ruleId: rule,
    ruleIndex: rules.indexOf(rule),
    level: sheet.severity,
    message: { text: `${message}. Fix: ${sheet.mend}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri },
          region: { startLine: line, startColumn: column },
        },
      },
    ],
  }
}

/** From where the program was run, which in a workflow is the top of the repository; a whole address for what lies elsewhere. */
function uriOf({ file }: Reported, workingFolder: string): string {
  const way = relative(workingFolder, file)
  const segments = way.split(sep)
  if (isAbsolute(way) || segments[0] === '..') return pathToFileURL(file).href
  return segments.map((segment) => encodeURIComponent(segment)).join('/')
}
