import { countOf } from '../../../base/text/plural.ts'
import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../../daemon/cli/command.ts'
import { isYes } from '../../../daemon/cli/confirm.ts'
import { tokenFor } from '../../../daemon/commands/connect/connect.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { checkLines, enrollmentCheck } from './enroll-check.ts'
import { netrcFile, personFile, planFile } from './enrolled-files.ts'
import type { EnrolledFile, PlannedFile } from './enrolled-files.ts'
import { enrolledFiles, machineOf } from './enrolled-machine.ts'
import type { Enrollment } from './enrolled-machine.ts'
import type { EnrolledAgent, MarketplaceAddress } from './enrollment.ts'
import { expectOwn, writeForeign } from './foreign-file.ts'

/** Writes the settings of the agents. All files are read and edited before the first is written. */
export async function writeEnrollment(context: Context, enrollment: Enrollment): Promise<ExitStatus> {
  const files = [...enrolledFiles(context, enrollment), ...(await tokenFiles(context, enrollment.marketplace))]
  const planned = await Promise.all(files.map(planFile))
  const changing = planned.filter(({ edit }) => edit.changed.length > 0)
  for (const { found } of changing) expectOwn(found)
  const manual = context.values['organization'] === true ? [] : agentsWithoutFile(context, enrollment)
  if (!context.json) printLines(context, linesOf(planned, manual, enrollment.marketplace))
  const isDone = context.values['dry-run'] !== true && changing.length > 0
  if (isDone) {
    if (!(await isAgreed(context, changing.length))) return 1
    for (const { file, found, edit } of changing) await writeForeign(found, edit.text, file.place, file.mode)
  }
  await printEnd(context, enrollment, { planned, manual, written: isDone ? changing.length : 0 })
  return 0
}

interface WriteEnd {
  readonly planned: readonly PlannedFile[]
  readonly manual: readonly EnrolledAgent[]
  readonly written: number
}

/** A dry run sends no request. What the check finds is shown, and does not undo what was written. */
async function printEnd(context: Context, enrollment: Enrollment, end: WriteEnd): Promise<void> {
  const check = context.values['dry-run'] === true ? undefined : await enrollmentCheck(context, enrollment)
  if (context.json) printJson(context, { ...resultOf(end, enrollment.marketplace), ...(check && { check }) })
  else if (check !== undefined) {
    const written = end.written === 0 ? [] : [`wrote ${countOf(end.written, 'file')}`]
    printLines(context, [...written, ...checkLines(check)])
  }
}

async function tokenFiles(context: Context, marketplace: MarketplaceAddress): Promise<readonly EnrolledFile[]> {
  const { environment, redactor, values } = context
  const file = values['token-file']
  if (typeof file !== 'string') return []
  const token = await tokenFor(file, environment, redactor)
  // netrc is words between spaces, in which some programs read quotes and escapes.
  if (token === undefined || !/^[\w.~+/=-]{1,4096}$/.test(token))
    throw new UsageError(`--token-file "${file}" holds no token: letters, digits and -._~+/= alone`)
  return [netrcFile(marketplace, token, environment)]
}

function agentsWithoutFile(context: Context, { marketplace, agents }: Enrollment): readonly EnrolledAgent[] {
  return agents.filter((agent) => personFile(agent, marketplace, machineOf(context)) === undefined)
}

async function isAgreed(context: Context, count: number): Promise<boolean> {
  if (context.values['yes'] === true) return true
  const { stdin, stderr } = context.streams
  if (stdin.isTTY !== true || stderr.isTTY !== true || context.json)
    throw new UsageError('There is no terminal to ask on: --yes writes without a question, --dry-run shows only')
  if (await isYes(context, `Write ${countOf(count, 'file')}?`)) return true
  printLines(context, ['nothing was written'])
  return false
}

function linesOf(
  planned: readonly PlannedFile[],
  manual: readonly EnrolledAgent[],
  marketplace: MarketplaceAddress,
): readonly string[] {
  const commands = manual.flatMap(({ title, person }) => [
    `${title}: no file is known to work; do this yourself:`,
    ...person(marketplace).flatMap(({ where, text }) => `# ${where}\n${text}`.split('\n').map((line) => `  ${line}`)),
  ])
  return [...planned.flatMap(changesOf), ...commands]
}

function changesOf({ file, found, edit }: PlannedFile): readonly string[] {
  const name = `${file.title}: ${printableLine(found.path)}`
  if (edit.changed.length === 0) return [`${name}: as expected`]
  return [`${name}${found.content === undefined ? ' (new)' : ''}`, ...edit.shown.map(printableLine)]
}

function resultOf({ planned, manual, written }: WriteEnd, marketplace: MarketplaceAddress): object {
  const state = written > 0 ? 'written' : 'would-be-written'
  return {
    files: planned.map(({ file, found, edit: { changed } }) => ({
      for: file.title,
      path: found.path,
      state: changed.length === 0 ? 'as-expected' : state,
      changed,
    })),
    manual: manual.map(({ id, person }) => ({ agent: id, steps: person(marketplace) })),
  }
}
