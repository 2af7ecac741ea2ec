import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fewText } from '../../../base/text/first-few.ts'
import { gitVersionIn, obeysNoLazyFetch, readsConfigFromEnvironment } from '../../../sync/git/program/git-version.ts'
import { runToEnd } from '../../../sync/git/program/process-group.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import type { ConfiguredSource } from '../../config/config.ts'

/** Checks the Node version, and every program that the configuration needs. */
export function programChecks(ground: Ground): Check[] {
  return [nodeCheck(), ...gitChecks(ground), ...namedPrograms(ground).map((named) => findable(named, ground))]
}

function nodeCheck(): Check {
  const { ok, warn } = verdicts('node')
  const { node } = process.versions
  return {
    name: 'node',
    // A Node that is too old was rejected at startup.
    look: async () => [
      process.platform === 'linux' || process.platform === 'darwin'
        ? ok(`Node ${node} at ${process.execPath}`)
        : warn(`Node ${node} on ${process.platform}, for which nothing is promised`, 'Run it on Linux or macOS'),
    ],
  }
}

/** For http(s), git and ssh are needed only if configured. */
function gitChecks({ config, environment }: Ground): Check[] {
  const { git, ssh } = config.programs
  const overSsh = config.sources.filter(isOverSsh)
  const chosen = config.sources.filter(({ source }) => source.kind === 'git' && source.backend === 'system')
  const needing = [...new Set([...overSsh, ...chosen])]
  const onDisk = config.sources.filter(
    (configured) => configured.source.kind === 'git' && configured.source.backend === 'auto' && isOnDisk(configured),
  )
  const call = { PATH: environment.path, ...environment.homeVariable, LC_ALL: 'C' }
  const asksGit = { command: git, args: ['--version'], env: call }
  const overHttp = chosen.some(({ source }) => /^https?:/i.test(source.url))
  const chosenOnDisk = chosen.some(isOnDisk)
  const checks: Check[] = []
  if (needing.length > 0)
    checks.push(versionResult({ ...asksGit, for: textOf(needing), isNeeded: true, overHttp, onDisk: chosenOnDisk }))
  else if (onDisk.length > 0)
    checks.push(versionResult({ ...asksGit, for: textOf(onDisk), isNeeded: false, onDisk: true }))
  if (overSsh.length > 0)
    checks.push(versionResult({ command: ssh, args: ['-V'], env: call, for: textOf(overSsh), isNeeded: true }))
  return checks
}

function isOnDisk({ source }: ConfiguredSource): boolean {
  return source.kind === 'git' && /^file:/i.test(source.url)
}

/** True if only the git and ssh programs can reach it. */
export function isOverSsh({ source }: ConfiguredSource): boolean {
  return source.kind === 'git' && !/^(?:https?|file):/i.test(source.url)
}

interface Versioned {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly for: string
  /** False if some repositories on this disk can be read without it. */
  readonly isNeeded: boolean
  /** True if git must speak http(s), which requires a version that reads its configuration from the environment. */
  readonly overHttp?: boolean
  /** True if git must read repositories on this disk, which requires a version that runs no program for them. */
  readonly onDisk?: boolean
}

function versionResult({
  command,
  args,
  env,
  for: whose,
  isNeeded,
  overHttp = false,
  onDisk = false,
}: Versioned): Check {
  const { ok, warn, fail } = verdicts('program', command)
  const fix = `Install it, or name it in \`programs\`; it is needed for ${whose}`
  const useless = (why: string): readonly CheckResult[] =>
    isNeeded ? [fail(why, fix)] : [warn(`${why}; repositories in forms that only git reads cannot be followed`, fix)]
  const start = { command, args, env, cwd: tmpdir(), fileBytes: undefined }
  return {
    name: 'program',
    subject: command,
    async look(signal) {
      try {
        const run = { what: `Cannot run "${command}"`, input: '', bounds: VERSION_BOUNDS }
        const { status, stdout, stderr } = await runToEnd(start, run, signal)
        const [version = ''] = `${stdout.toString()}${stderr}`.trim().split('\n')
        const said = version.slice(0, 100)
        const tooOld = whyTooOld(said, { overHttp, onDisk })
        if (tooOld !== undefined) return useless(tooOld)
        if (status === 0) return [ok(`${said || 'it reports no version'}, for ${whose}`)]
        const end = status === undefined ? 'a signal ended it' : `it ended with status ${status}`
        return useless(`asked for its version, ${end}${said === '' ? '' : `: ${said}`}`)
      } catch (error) {
        // The program does not exist, is silent, or prints too much: the message says which.
        if (!(error instanceof SyncError)) throw error
        return useless(error.message)
      }
    },
  }
}

/** The reason why git is too old; `undefined` if it is not. Other programs, for example ssh, print no such version. */
function whyTooOld(said: string, { overHttp, onDisk }: Pick<Versioned, 'overHttp' | 'onDisk'>): string | undefined {
  const version = gitVersionIn(said)
  if (version === undefined) return undefined
  if (overHttp === true && !readsConfigFromEnvironment(version))
    return `${said} is too old to be used over http(s): git 2.31 or newer is required`
  if (onDisk === true && !obeysNoLazyFetch(version))
    return `${said} is too old for repositories on this disk (CVE-2024-32004): git 2.45.1, or a release of an older line with that fixed, is required`
  return undefined
}

const VERSION_BOUNDS = { firstMs: 5_000, idleMs: 5_000, outputBytes: 65_536 }

interface NamedProgram {
  readonly command: string
  readonly use: string
}

/** Programs that the operator chose. They are located and never run, because their effects are unknown. */
function namedPrograms({ config: { sources }, asked }: Ground): NamedProgram[] {
  const ofSources = sources.flatMap(({ source, access }): NamedProgram[] => [
    ...(source.kind === 'mcp' && source.place.kind === 'program'
      ? [{ command: source.place.command, use: `the MCP server of "${source.id}"` }]
      : []),
    ...(access.kind === 'helper' ? [{ command: access.command, use: `the credentials of "${source.id}"` }] : []),
  ])
  return [...ofSources, ...asked.flatMap((party) => (party.kind === 'program' ? [party] : []))]
}

function findable({ command, use }: NamedProgram, { environment }: Ground): Check {
  const { ok, fail } = verdicts('program', command)
  return {
    name: 'program',
    subject: command,
    async look(): Promise<CheckResult[]> {
      const file = await found(command, environment.path)
      if (file !== undefined) return [ok(`${file}, for ${use}`)]
      return [fail(`nothing of this name can be run, for ${use}`, 'Install it, or write its absolute path')]
    },
  }
}

async function found(command: string, path: string): Promise<string | undefined> {
  const files = command.includes('/') ? [command] : path.split(':').map((folder) => join(folder, command))
  for (const file of files) if (await isRunnable(file)) return file
  return undefined
}

async function isRunnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}

function textOf(sources: readonly ConfiguredSource[]): string {
  return fewText(sources, MOST_NAMED, ({ source }) => `"${source.id}"`)
}

const MOST_NAMED = 5
