import { isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VERSION } from '../../serve/version.ts'
import type { LintCode } from './lint/diagnostic.ts'
import { lintCodes, describeCode } from './lint/rule-texts.ts'
import type { ValidationReport, ReportedDiagnostic } from './report.ts'

/** The report as SARIF 2.1.0, which code hosts show beside the lines, with paths relative to the working folder. */
export function sarifOf({ diagnostics }: ValidationReport, workingFolder: string): object {
  const rules = lintCodes()
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillsyncd', semanticVersion: VERSION, rules: rules.map(descriptorOf) } },
        columnKind: 'utf16CodeUnits',
        results: diagnostics.map((diagnostic) => resultOf(diagnostic, rules, uriOf(diagnostic, workingFolder))),
      },
    ],
  }
}

function descriptorOf(code: LintCode): object {
  const { severity, by, says, mend } = describeCode(code)
  return {
    id: code,
    shortDescription: { text: says },
    help: { text: `Fix: ${mend}` },
    defaultConfiguration: { level: severity },
    properties: { by },
  }
}

function resultOf(diagnostic: ReportedDiagnostic, rules: readonly LintCode[], uri: string): object {
  const { code, description, message, line, column } = diagnostic
  return {
    ruleId: code,
    ruleIndex: rules.indexOf(code),
    level: description.severity,
    message: { text: `${message}. Fix: ${description.mend}` },
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
function uriOf({ file }: ReportedDiagnostic, workingFolder: string): string {
  const way = relative(workingFolder, file)
  const segments = way.split(sep)
  if (isAbsolute(way) || segments[0] === '..') return pathToFileURL(file).href
  return segments.map((segment) => encodeURIComponent(segment)).join('/')
}
