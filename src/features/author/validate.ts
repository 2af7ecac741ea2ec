import { isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { countOf } from '../../base/text/plural.ts'
import { printablePath } from '../../base/text/printable.ts'
import { paintFor } from '../../daemon/cli/colors.ts'
import type { Paint } from '../../daemon/cli/colors.ts'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { readOfficially } from '../../serve/official-reader.ts'
import { VERSION } from '../../serve/version.ts'
import { budgetLines } from '../../sync/catalog/budget/budget-text.ts'
import { PRESENT_CLIENTS } from '../../sync/catalog/budget/client-rules.ts'
import type { BudgetTerms } from '../../sync/catalog/budget/context-budget.ts'
import { SKILL_LIMITS } from '../../sync/model/skill.ts'
import type { Selection } from '../../sync/model/source.ts'
import { FRONTMATTER_LIMITS } from '../../sync/skill/frontmatter.ts'
import type { Workspace } from '../../sync/store/objects/blob-store.ts'
import { temporaryWorkspace } from '../../sync/store/objects/temporary-blobs.ts'
import type { Rules } from '../../sync/survey/survey-rules.ts'
import { readFolder } from '../../sync/upstream/folder/folder-tree.ts'
import { FETCH_LIMITS } from '../../sync/upstream/upstream.ts'
import type { LintCode } from './lint/diagnostic.ts'
import type { Level } from './lint/lint-skill.ts'
import { validate as validateTree } from './lint/lint.ts'
import type { Validation } from './lint/lint.ts'
import { describeCode, lintCodes } from './lint/rule-texts.ts'
import { reportOf } from './report.ts'
import type { ReportedDiagnostic, ReportedSkill, ValidationReport } from './report.ts'
import { rootsOf } from './roots.ts'
import type { Root } from './roots.ts'

export const validateCommand: Command = {
  name: 'skill validate',
  operands: { text: '[PATH…]', most: Number.POSITIVE_INFINITY, offers: ['files'] },
  needsConfiguration: false,
  details: `
  PATH is the folder of a skill, a file of a skill, or a folder of skills; the default is the current folder. It needs
  no configuration and no network. The exit status is 3 for an error.
`,
  examples: ['skillsyncd skill validate skills/', 'skillsyncd skill validate --sarif skills/ > skills.sarif'],
  options: {
    level: {
      type: 'string',
      value: 'LEVEL',
      help: 'spec: the specification (default); skills-ref: also the rules of its reference validator',
      offers: ['spec', 'skills-ref'],
    },
    contract: { type: 'boolean', help: 'require the x-personal-mcp block in every skill' },
    strict: { type: 'boolean', help: 'exit with 3 for a warning too' },
    window: {
      type: 'string',
      value: 'TOKENS',
      help: 'the context window of your model, for the context budget',
    },
    sarif: { type: 'boolean', help: 'print the result as SARIF 2.1.0, for code hosts' },
  },
  async run(context) {
    const { operands, values } = context
    if (context.json && values['sarif'] === true) throw new UsageError('--json and --sarif exclude each other')
    const terms = termsFor(values['window'])
    const asked: Asked = { level: levelOf(values['level']), contract: values['contract'] === true }
    const { roots, outside } = await rootsOf(operands.length === 0 ? ['.'] : operands, process.cwd())
    noteOutside(context, outside)
    const report = reportOf(await validateAll(roots, asked, context.signal), terms)
    if (values['sarif'] === true) printJson(context, sarifOf(report, process.cwd()))
    else if (context.json) printJson(context, jsonOf(report, asked))
    else printLines(context, linesOf(report, paintFor(context)))
    return report.errors > 0 || (values['strict'] === true && report.warnings > 0) ? 3 : 0
  },
}

function noteOutside({ streams, redactor, quiet }: Context, outside: readonly string[]): void {
  if (quiet) return
  for (const path of outside)
    streams.stderr.write(`skillsyncd: ${redactor.clean(printableLine(path))} is in no skill and is skipped\n`)
}

interface Asked {
  readonly level: Level
  readonly contract: boolean
}

function levelOf(value: unknown): Level {
  if (value === undefined || value === 'spec') return 'spec'
  if (value === 'skills-ref') return value
  throw new UsageError('--level is one of spec, skills-ref')
}

/** The terms of the context budget: every present client, with the given window; `undefined` for the usual ones. */
function termsFor(value: unknown): readonly BudgetTerms[] | undefined {
  if (value === undefined) return undefined
  const window = typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : undefined
  if (window === undefined) throw new UsageError('--window is a number of tokens, for example 200000')
  return PRESENT_CLIENTS.map((client) => ({ client, window }))
}

interface Validated {
  readonly root: Root
  readonly validation: Validation
}

async function validateAll(roots: readonly Root[], asked: Asked, signal: AbortSignal): Promise<Validated[]> {
  await using workspace = await temporaryWorkspace()
  const validated: Validated[] = []
  for (const root of roots) validated.push({ root, validation: await validateRoot(root, asked, workspace, signal) })
  return validated
}

async function validateRoot(root: Root, asked: Asked, { blobs }: Workspace, signal: AbortSignal): Promise<Validation> {
  const reading = { root: '', docs: undefined, limits: FETCH_LIMITS, blobs }
  await using tree = await readFolder(root.folder, reading, signal)
  const validating = { rules: rulesOf(asked), level: asked.level, folder: root.name, readOfficially }
  const validation = await validateTree(tree, validating, signal)
  // A check that validates nothing would pass forever.
  if (validation.skills.length === 0) {
    const isLinked = validation.diagnostics.some(({ code }) => code === 'link-refused')
    const linked = isLinked ? '; links that lead out of it are not followed, name what they lead to' : ''
    const ignored = validation.diagnostics.find(({ code }) => code === 'skill-ignored')
    const why = ignored === undefined ? linked : ` that counts; ${printablePath(ignored.path)}: ${ignored.message}`
    throw new UsageError(`There is no SKILL.md in "${root.shown === '' ? '.' : root.shown}" or below${why}`)
  }
  return validation
}

/** The rules for a source with default settings. */
function rulesOf({ contract }: Asked): Rules {
  const all: Selection = {
    root: '',
    include: ['**'],
    exclude: [],
    unlisted: [],
    names: 'remap',
    nested: 'as-skills',
    onBroken: 'withhold',
    lfs: 'leave-out',
    hiddenUnicode: 'deceptive',
    contract: contract || 'offer',
    docs: undefined,
    marketplace: true,
  }
  return { selection: all, limits: { skill: SKILL_LIMITS, frontmatter: FRONTMATTER_LIMITS, fetch: FETCH_LIMITS } }
}

function linesOf(report: ValidationReport, paint: Paint): string[] {
  const { skills, diagnostics, errors, warnings, budget } = report
  const texts = diagnostics.flatMap((diagnostic) => textsOf(diagnostic, paint))
  const passed = skills.filter(passes).length
  return [
    ...texts,
    ...(budget.skills > 1 ? budgetLines(budget).map((line) => `context budget  ${printableLine(line)}`) : []),
    `${countOf(skills.length, 'skill')}, ${passed} pass, ${countOf(errors, 'error')}, ${countOf(warnings, 'warning')}`,
  ]
}

function textsOf({ path, line, column, code, description, message }: ReportedDiagnostic, paint: Paint): string[] {
  const { severity } = description
  const severityText = paint(severity === 'error' ? 'red' : 'yellow', severity)
  return [
    `${printableLine(path)}:${line}:${column}  ${severityText}  ${code}  ${printableLine(message)}`,
    `    ${description.fix}`,
  ]
}

function passes({ errors }: ReportedSkill): boolean {
  return errors === 0
}

/** The format is documented: keys are added, never changed. */
function jsonOf(
  { skills, diagnostics, errors, warnings, budget }: ValidationReport,
  { level, contract }: Asked,
): object {
  return {
    level,
    contract,
    summary: { skills: skills.length, pass: skills.filter(passes).length, errors, warnings },
    skills: skills.map((skill) => ({ ...skill, name: skill.name ?? null, pass: passes(skill) })),
    findings: diagnostics.map(({ path, line, column, code, description, message }) => {
      const { severity, by, fix } = description
      return { path, line, column, severity, by, code, message, fix }
    }),
    budget,
  }
}

/** The report as SARIF 2.1.0, which code hosts show beside the lines, with paths relative to the working folder. */
function sarifOf({ diagnostics }: ValidationReport, workingFolder: string): object {
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
  const { severity, by, says, fix } = describeCode(code)
  return {
    id: code,
    shortDescription: { text: says },
    help: { text: `Fix: ${fix}` },
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
    message: { text: `${message}. Fix: ${description.fix}` },
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
