import { access } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { withTextKey } from '../../../base/settings/yaml-edit.ts'
import { isDiskError } from '../../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../../sync/store/files/make-folders.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { editConfiguration } from '../../cli/edit-configuration.ts'
import type { WrittenFolder } from '../../cli/feature.ts'
import { launchAgentPath, PLIST, userUnitFolder } from '../../cli/user-service.ts'
import type { Environment } from '../../config/environment.ts'
import { programFiles } from '../../program-files.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { whyNotUsed } from '../../runtime/disk-error-text.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { analyze } from '../service/analyze.ts'
import type { UnitCheck } from '../service/analyze.ts'
import { install, whatIsAt } from '../service/install.ts'
import type { InstalledFile } from '../service/install.ts'
import { launchAgent } from '../service/launch-agent.ts'
import { expectSystemSees, expectUserSees, hiddenFolders } from '../service/sandbox.ts'
import { askManager, expectDone, MANAGERS } from '../service/service-commands.ts'
import type { Manager } from '../service/service-commands.ts'
import { uninstall } from '../service/uninstall.ts'
import { SYSTEM_STATE, SYSTEM_UNITS, systemUnits, unitPaths, userUnits } from '../service/units.ts'
import type { Service, ServiceFile } from '../service/units.ts'

export const service: Command = {
  name: 'service',
  operands: {
    text: 'print | install | verify | uninstall',
    most: 1,
    offers: [['print', 'install', 'verify', 'uninstall']],
  },
  needsConfiguration: false,
  details: `
  print shows the units, install writes them, verify checks them with systemd-analyze (exit status 3 for a fault), and
  uninstall stops the service and removes them. install starts nothing without --now: it prints the commands for that.
  The units run this program with this Node.js, so keep both where they are.
`,
  examples: [
    'skillsyncd service install --user --now',
    'sudo skillsyncd service install',
    'skillsyncd service uninstall --user',
  ],
  options: {
    user: { type: 'boolean', help: 'for this user, without root; default: for the system' },
    launchd: { type: 'boolean', help: 'for launchd, as on macOS, where it is the default' },
    config: {
      type: 'string',
      short: 'c',
      value: 'FILE',
      help: "the configuration; default: /etc/skillsyncd/skillsyncd.yaml, with --user the user's",
      offers: 'files',
    },
    state: {
      type: 'string',
      value: 'DIR',
      help: 'with --user: the state folder, instead of the configured one',
      offers: 'folders',
    },
    now: { type: 'boolean', help: 'with install: start the service too, or start it anew if its files changed' },
    force: {
      type: 'boolean',
      help: 'with install or uninstall: replace or remove a file that skillsyncd did not write',
    },
  },
  async run(context) {
    const [verb] = context.operands
    if (context.values['force'] === true && verb !== 'install' && verb !== 'uninstall')
      throw new UsageError('--force goes with "service install" and "service uninstall"')
    if (context.values['now'] === true && verb !== 'install') throw new UsageError('--now goes with "service install"')
    switch (verb) {
      case 'print':
        return printFiles(context, await plannedOf(context))
      case 'install':
        return installFiles(context, await plannedOf(context))
      case 'verify':
        return verifyFiles(context, await plannedOf(context))
      case 'uninstall':
        return uninstallFiles(context)
      default:
        throw new UsageError('"service" wants print, install, verify or uninstall; see skillsyncd service --help')
    }
  },
}

type Scope = Manager

/** The unit files with their context. */
interface Planned {
  readonly scope: Scope
  readonly service: Service
  readonly config: ServedConfig
  readonly folders: readonly WrittenFolder[]
  readonly files: readonly ServiceFile[]
}

async function plannedOf(context: Context): Promise<Planned> {
  const { environment, values } = context
  const scope = scopeOf(context)
  if (scope === 'system' && values['state'] !== undefined)
    throw new UsageError('The state of the system service is /var/lib/skillsyncd; --state goes with --user')
  const file = await configFileOf(context, scope)
  const state = typeof values['state'] === 'string' ? values['state'] : undefined
  const { readConfig } = await context.configuration()
  const config = await readConfig({ file, state }, environment)
  const program = await programFiles()
  const folders = (await context.features.folders()).flatMap((feature) => feature.of(config, environment))
  const paths = folders.map(({ path }) => path)
  const service: Service = { program, config: file, state: config.state, http: config.serve.http, folders: paths }
  const unwritable = [program.node, program.main, file, config.state, ...paths].find((path) => /\p{Cc}/u.test(path))
  if (unwritable !== undefined)
    throw new UsageError(`Cannot make a service of "${printableLine(unwritable)}": it has control characters`)
  switch (scope) {
    case 'system':
      await expectSystemSees(service)
      return { scope, service, config, folders, files: await systemUnits(service) }
    case 'user':
      await expectUserSees(service)
      return { scope, service, config, folders, files: await userUnits(service, environment.configHome) }
    case 'launchd':
      return { scope, service, config, folders, files: [await launchAgent(service, environment.home)] }
    default:
      return scope satisfies never
  }
}

function scopeOf({ values }: Context): Scope {
  if (values['launchd'] === true) return 'launchd'
  if (process.platform === 'darwin') return 'launchd'
  return values['user'] === true ? 'user' : 'system'
}

async function configFileOf({ environment, values }: Context, scope: Scope): Promise<string> {
  const folder = scope === 'system' ? '/etc' : environment.configHome
  const file = resolve(
    typeof values['config'] === 'string' ? values['config'] : join(folder, 'skillsyncd/skillsyncd.yaml'),
  )
  await access(file).catch((cause: unknown) => {
    throw new UsageError(
      `Cannot make a service of "${file}": there is no such configuration; write it, or name one with --config`,
      { cause },
    )
  })
  return file
}

function printFiles(context: Context, { files }: Planned): ExitStatus {
  if (context.json) printJson(context, { files })
  else
    printLines(
      context,
      files.map(({ path, text }) => `# ${path}\n${text}`),
    )
  return 0
}

async function installFiles(context: Context, planned: Planned): Promise<ExitStatus> {
  const { scope, service, files } = planned
  const installed = await install(files, context.values['force'] === true)
  // The sandbox covers only folders that exist when it starts.
  if (scope === 'user') await makeFolders(service.state, 0o700)
  const notes = [...(await notesOf(planned)), ...(await recordState(context, scope, service))]
  const isNow = context.values['now'] === true
  if (isNow) await startNow(context, scope, installed)
  const next = isNow ? lingerSteps(scope) : [...startSteps(scope, files), ...lingerSteps(scope)]
  if (context.json) printJson(context, { files: installed, notes, next })
  else
    printLines(context, [
      ...installed.map(({ path, change }) => `${change.padEnd(9)} ${path}`),
      ...notes.map((note) => `note      ${note}`),
      ...(isNow ? ['started   skillsyncd'] : []),
      ...(next.length === 0 ? [] : ['next:', ...next.map((command) => `  ${command}`)]),
    ])
  return 0
}

/** Starts the service. One whose files changed is started anew. */
async function startNow(
  { environment, signal }: Context,
  scope: Scope,
  installed: readonly InstalledFile[],
): Promise<void> {
  const isChanged = installed.some(({ change }) => change === 'written')
  const units = installed.map(({ path }) => basename(path)).toReversed()
  const [plist = ''] = installed.map(({ path }) => path)
  const domain = `gui/${process.getuid?.() ?? ''}`
  // It fails where nothing was loaded yet.
  if (scope === 'launchd')
    await askManager(scope, ['bootout', `${domain}/${basename(PLIST, '.plist')}`], environment, signal)
  const steps =
    scope === 'launchd'
      ? [['bootstrap', domain, plist]]
      : [['daemon-reload'], ['enable', ...units], [isChanged ? 'restart' : 'start', ...units]]
  await expectDone(scope, steps, environment, signal)
}

/**
 * Writes the state folder of the service into its configuration, if the configuration leads commands to another one:
 * `hub token add` and `store backup` would use that, and report success. Returns what a person should know of it.
 */
async function recordState(
  context: Context,
  scope: Scope,
  { config: file, state }: Service,
): Promise<readonly string[]> {
  const { readConfig } = await context.configuration()
  const actual = scope === 'system' ? SYSTEM_STATE : state
  const { state: configured } = await readConfig({ file }, context.environment)
  if (configured === actual) return []
  const edit = (text: string): string => withTextKey(text, 'state', actual)
  try {
    await editConfiguration({ file, state: actual, command: 'write the state folder', edit }, context)
    return [`wrote state: ${actual} into ${file}: commands with that configuration use the folder of the service`]
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return [`commands need --state ${actual}, as the service has it: ${error.message}`]
  }
}

async function notesOf({ scope, service, config, folders }: Planned): Promise<readonly string[]> {
  if (scope === 'launchd') return []
  return scope === 'user' ? unmadeFolders(service) : notesOfSystem(config, folders)
}

/** Makes the folders that the service fills. One that cannot be made is a note, and the service runs without it. */
async function unmadeFolders({ folders }: Service): Promise<readonly string[]> {
  const notes: string[] = []
  for (const folder of folders) {
    try {
      await makeFolders(folder)
    } catch (error) {
      if (!isDiskError(error)) throw error
      const mend = 'fix that, install again, and restart the service'
      notes.push(`the service cannot fill the folder "${folder}": ${whyNotUsed(error)}; ${mend}`)
    }
  }
  return notes
}

async function notesOfSystem(config: ServedConfig, folders: readonly WrittenFolder[]): Promise<readonly string[]> {
  const hidden = await hiddenFolders(config)
  return [
    ...hidden.map((path) => `the service does not see the folder "${path}": its sandbox hides it`),
    ...folders
      .flatMap(({ agent }) => agent ?? [])
      .map(
        (id) =>
          `the service cannot fill the folder of ${id}: it sees no home; install --user, as the user whose agent reads, runs one that does`,
      ),
    ...folders
      .flatMap(({ path, agent }) => (agent === undefined ? [path] : []))
      .map(
        (path) =>
          `the service can fill the folder "${path}" only if a drop-in has it in ReadWritePaths=, for its user to write`,
      ),
  ]
}

function startSteps(scope: Scope, files: readonly ServiceFile[]): readonly string[] {
  if (scope === 'launchd') return files.map(({ path }) => `launchctl bootstrap gui/$(id -u) '${path}'`)
  const systemctl = MANAGERS[scope].join(' ')
  const units = files.length > 1 ? 'skillsyncd.socket skillsyncd.service' : 'skillsyncd.service'
  return [`${systemctl} daemon-reload`, `${systemctl} enable --now ${units}`]
}

function lingerSteps(scope: Scope): readonly string[] {
  return scope === 'user' ? ['loginctl enable-linger    # to have it run while you are not logged in'] : []
}

async function verifyFiles(context: Context, { scope, files }: Planned): Promise<ExitStatus> {
  if (scope === 'launchd')
    throw new UsageError('Cannot verify a property list here: try plutil -lint on what print gives')
  const checked = await analyze(files, scope, context.environment, context.signal)
  if (checked === undefined) {
    context.streams.stderr.write(
      'skillsyncd: Cannot verify the units: systemd-analyze is not on PATH, so there is no systemd here\n',
    )
    return 1
  }
  const all = [...checked, ...(await Promise.all(files.map(whetherInstalled)))]
  if (context.json) printJson(context, { checks: all })
  else
    printLines(
      context,
      all.flatMap(({ check, ok, said }) => [
        `${ok ? 'ok    ' : 'fault '} ${check}`,
        ...said.map((line) => `       ${printableLine(line)}`),
      ]),
    )
  return all.every(({ ok }) => ok) ? 0 : 3
}

/** Needs no configuration: that may be gone before the service is. */
async function uninstallFiles(context: Context): Promise<ExitStatus> {
  const { environment, values, signal } = context
  const scope = scopeOf(context)
  const paths = installedPaths(scope, environment)
  const manager = scope === 'launchd' ? undefined : scope
  const isForced = values['force'] === true
  const removed = await uninstall({ paths, manager, isForced }, environment, signal)
  const next = scope === 'launchd' && removed.length > 0 ? ['launchctl bootout gui/$(id -u)/dev.skillsyncd'] : []
  if (context.json) printJson(context, { removed, next })
  else if (removed.length === 0) printLines(context, [`nothing is installed at ${paths.join(' or ')}`])
  else
    printLines(context, [
      ...removed.map((path) => `removed   ${path}`),
      ...(next.length === 0 ? [] : ['next:', ...next.map((command) => `  ${command}`)]),
      'The configuration, the state folder and linked skills stay; skillsyncd link --remove --all removes the links.',
    ])
  return 0
}

function installedPaths(scope: Scope, { configHome, home }: Environment): readonly string[] {
  switch (scope) {
    case 'system':
      return unitPaths(SYSTEM_UNITS)
    case 'user':
      return unitPaths(userUnitFolder(configHome))
    case 'launchd':
      return [launchAgentPath(home)]
    default:
      return scope satisfies never
  }
}

/** A file that is not installed is not a fault. */
async function whetherInstalled(file: ServiceFile): Promise<UnitCheck> {
  const there = await whatIsAt(file)
  const check = there === 'nothing' ? `not installed: ${file.path}` : `installed: ${file.path}`
  if (there === 'ours' || there === 'foreign')
    return { check, ok: false, said: ['it is not what this program would write; try skillsyncd service install'] }
  return { check, ok: true, said: [] }
}
