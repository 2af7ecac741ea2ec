import { isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VERSION } from '../../../serve/version.ts'
import type { Rule } from '../../../sync/lint/diagnostic.ts'
import { allRules, sheetOf } from '../../../sync/lint/rule-texts.ts'
import type { ValidationReport, Reported } from './report.ts'

/** The report as SARIF 2.1.0, which code hosts show beside the lines, with paths relative to the working folder. */
export function sarifOf({ findings }: ValidationReport, workingFolder: string): object {
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

/**
 * Relative to the working folder, which is the repository's top in a workflow; an absolute URL for files outside of it.
 */
function uriOf({ file }: Reported, workingFolder: string): string {
  const way = relative(workingFolder, file)
  const segments = way.split(sep)
  if (isAbsolute(way) || segments[0] === '..') return pathToFileURL(file).href
  return segments.map((segment) => encodeURIComponent(segment)).join('/')
}
