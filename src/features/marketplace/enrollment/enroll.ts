import { countOf } from '../../../base/text/plural.ts'
import { isTokenRequired } from '../../../daemon/access/http-options.ts'
import { checkLines, checksJson, printChecks } from '../../../daemon/cli/check.ts'
import { paintFor } from '../../../daemon/cli/colors.ts'
import { configFor, printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../../daemon/cli/command.ts'
import { isYes } from '../../../daemon/cli/confirm.ts'
import { hubAddressOf } from '../../../daemon/cli/hub-address.ts'
import { packsNamed } from '../../../daemon/cli/pack-option.ts'
import { tokenFor } from '../../../daemon/cli/token-option.ts'
import { expectOwn, writeForeign } from '../../../daemon/runtime/foreign-file.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import type { PublishingConfig } from '../publication-config.ts'
import { enrollmentChecks } from './enroll-check.ts'
import { netrcFile, personFile, planFile } from './enrolled-files.ts'
import type { EnrolledFile, PlannedFile } from './enrolled-files.ts'
import { enrolledFiles, machineOf } from './enrolled-machine.ts'
import type { Enrollment } from './enrolled-machine.ts'
import { ENROLLED_AGENTS, stepOf, tokenStep } from './enrollment.ts'
import type { EnrolledAgent, EnrollmentStep, MarketplaceAddress } from './enrollment.ts'

const IDS = ENROLLED_AGENTS.map(({ id }) => id)

/** Prints how agents take the plugin marketplace of the configuration, or writes it into their settings. */
export const enroll: Command = {
  name: 'hub enroll',
  operands: { text: '[AGENT…]', most: IDS.length, offers: [IDS] },
  details: `
  It prints commands for a person, or settings for an organization.

  AGENT is ${IDS.join(', ')}; the default is all.

  Nothing is written without --write, which changes only its own entries and keeps every other byte, comments
  included. A file is refused if it is not valid, if another user owns it, or if it has another table with that name.
  Afterwards the check of --check runs. A token is never shown, and is never in a settings file.
`,
  examples: ['skillsyncd hub enroll claude-code codex --write', 'skillsyncd hub enroll --check'],
  options: {
    url: { type: 'string', value: 'URL', help: 'the address of the hub; default: the address in the configuration' },
    pack: {
      type: 'string',
      multiple: true,
      value: 'ID',
      offers: 'packs',
      help: 'only the plugins of these packs; default: all',
    },
    organization: { type: 'boolean', help: 'the settings for all users of a Linux machine' },
    write: { type: 'boolean', help: 'write the settings of the named agents, after a confirmation' },
    yes: { type: 'boolean', help: 'with --write: write without a confirmation' },
    'dry-run': { type: 'boolean', help: 'with --write: show what would be written' },
    check: {
      type: 'boolean',
      help: 'check the settings and the address; exit with 3 if something is wrong',
    },
    'token-file': {
      type: 'string',
      value: 'FILE',
      offers: 'files',
      help: 'with --write: the file with the token, which is written to ~/.netrc for git',
    },
    root: {
      type: 'string',
      value: 'DIR',
      offers: 'folders',
      help: 'with --organization: the root folder of an image, instead of /',
    },
  },
  async run(context: Context<PublishingConfig>) {
    expectCombined(context)
    const config = await configFor(context)
    const marketplace = await marketplaceOf(config, context)
    const isForOrganization = context.values['organization'] === true
    const named = agentsNamed(context.operands, isForOrganization)
    if (context.values['write'] === true) return writeEnrollment(context, { marketplace, agents: named })
    if (context.values['check'] === true)
      return printChecks(context, await enrollmentChecks(context, { marketplace, agents: named }))
    const token = tokenStep(marketplace)
    const agents = named.map((agent) => ({
      agent: agent.id,
      title: agent.title,
      steps: isForOrganization ? managedSteps(agent, marketplace) : agent.person(marketplace),
    }))
    if (context.json) {
      const { url, name } = marketplace
      printJson(context, { url, name, ...(token !== undefined && { token }), agents })
      return 0
    }
    const blocks = [...(token === undefined ? [] : [['Token, for git', token] as const]), ...agents.flatMap(blocksOf)]
    context.streams.stdout.write(blocks.map(([title, step]) => textOf(title, step)).join('\n'))
    return 0
  },
}

function expectCombined({ operands, values }: Context): void {
  const lone = ['yes', 'dry-run', 'token-file'].find((name) => values[name] !== undefined)
  if (values['write'] !== true && lone !== undefined) throw new UsageError(`--${lone} goes with --write`)
  if (values['write'] === true && operands.length === 0)
    throw new UsageError(`--write wants the names of agents: ${IDS.join(', ')}`)
  if (values['write'] === true && values['check'] === true)
    throw new UsageError('--write ends with the check: --write and --check exclude each other')
  if (values['organization'] !== true) {
    if (values['root'] !== undefined) throw new UsageError('--root goes with --organization')
  } else if (values['token-file'] !== undefined)
    throw new UsageError('A token is of one person: --token-file and --organization exclude each other')
}

async function marketplaceOf(config: PublishingConfig, context: Context): Promise<MarketplaceAddress> {
  const { marketplace, http } = config.serve
  if (marketplace === undefined)
    throw new UsageError('There is no marketplace: give it a name in serve.marketplace, and reload the daemon')
  const named = context.values['url']
  const hub = typeof named === 'string' ? named : await hubAddressOf(config, context.signal)
  const url = URL.parse('/marketplace.git', hub)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new UsageError('--url is no http(s) address without a user, such as https://hub.example.com')
  const packs = packsNamed(context.values['pack'], config)
  const plugins = packs ?? [...config.packs.map(({ id }) => id), marketplace.plugin]
  return { url: url.href, name: marketplace.name, plugins, isTokenRequired: isTokenRequired(config, http) }
}

function agentsNamed(ids: readonly string[], isForOrganization: boolean): readonly EnrolledAgent[] {
  const unknown = ids.find((id) => !IDS.includes(id))
  if (unknown !== undefined) throw new UsageError(`"${unknown}" is no agent that is known; there are ${IDS.join(', ')}`)
  const named = ENROLLED_AGENTS.filter(({ id }) => ids.length === 0 || ids.includes(id))
  if (!isForOrganization) return named
  const possible = named.filter(({ organization }) => organization !== undefined)
  if (ids.length === 0) return possible
  const without = named.find(({ organization }) => organization === undefined)
  if (without === undefined) return possible
  throw new UsageError(`${without.id} has no file for all users that is known; leave it out`)
}

function managedSteps({ organization }: EnrolledAgent, marketplace: MarketplaceAddress): readonly EnrollmentStep[] {
  return (organization?.(marketplace) ?? []).map(({ path, settings }) => stepOf(path, settings))
}

function blocksOf({ title, steps }: { readonly title: string; readonly steps: readonly EnrollmentStep[] }) {
  return steps.map((step) => [title, step] as const)
}

function textOf(title: string, { where, text }: EnrollmentStep): string {
  return `# ${title}: ${where}\n${text}\n`
}

/** Writes the settings of the agents. All files are read and edited before the first is written. */
async function writeEnrollment(context: Context, enrollment: Enrollment): Promise<ExitStatus> {
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
  const checks = context.values['dry-run'] === true ? undefined : await enrollmentChecks(context, enrollment)
  if (context.json) printJson(context, { ...resultOf(end, enrollment.marketplace), ...(checks && checksJson(checks)) })
  else if (checks !== undefined) {
    const written = end.written === 0 ? [] : [`wrote ${countOf(end.written, 'file')}`]
    printLines(context, [...written, ...checkLines(checks, paintFor(context))])
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
