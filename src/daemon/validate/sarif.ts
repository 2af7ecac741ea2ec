import { isAbsolute, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VERSION } from '../../serve/version.ts'
import type { Rule } from '../../sync/authoring/rule.ts'
import { allRules, sheetOf } from '../../sync/authoring/rule-sheets.ts'
import type { Report, Reported } from './report.ts'

/** The report in the form that code hosts show beside the lines: SARIF 2.1.0. */
export function sarifOf({ findings }: Report): object {
  const rules = allRules()
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillsyncd', semanticVersion: VERSION, rules: rules.map(descriptorOf) } },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => resultOf(finding, rules)),
      },
    ],
  }
}

function descriptorOf(rule: Rule): object {
  const { severity, by, says, mend } = sheetOf(rule)
  return {
    id: rule,
    shortDescription: { text: says },
    help: { text: `Mend: ${mend}` },
    defaultConfiguration: { level: severity },
    properties: { by },
  }
}

function resultOf(finding: Reported, rules: readonly Rule[]): object {
  const { rule, sheet, message, line, column } = finding
  return {
    ruleId: rule,
    ruleIndex: rules.indexOf(rule),
    level: sheet.severity,
    message: { text: `${message}. Mend: ${sheet.mend}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(finding) },
          region: { startLine: line, startColumn: column },
        },
      },
    ],
  }
}

/** From where the program was run, which in a workflow is the top of the repository; a whole address for what lies elsewhere. */
function uriOf({ path, file }: Reported): string {
  const segments = path.split(sep)
  if (isAbsolute(path) || segments[0] === '..') return pathToFileURL(file).href
  return segments.map((segment) => encodeURIComponent(segment)).join('/')
}
