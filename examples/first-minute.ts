// The whole of skillsyncd in one minute, on a machine without a network: a git repository, the daemon, an MCP client that
// subscribes, a commit, and how it comes through. `--once` ends after the round trip; without it all stays up to play with.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { REVISION, SkillClient } from './first-minute/client.ts'
import { DaemonProcess, PROGRAM, writeConfig } from './first-minute/daemon.ts'
import { SkillRepository } from './first-minute/repository.ts'
import { Screen } from './first-minute/screen.ts'
import { anything, logged, ofKind, Timeline } from './first-minute/timeline.ts'
import type { LogLine, Seen } from './first-minute/timeline.ts'

/** No step may take longer. */
const STEP_MS = 30_000

/** The skill that is changed, and the files of it. */
const CHANGED = { skill: 'git-bisect', files: ['SKILL.md', 'references/difficult-cases.md'] }

const screen = new Screen(process.stdout)

async function main(isOnce: boolean, stop: AbortSignal): Promise<void> {
  await using folder = await temporaryFolder()
  const timeline = new Timeline()
  const configFile = await writeConfig(folder.path, join(folder.path, 'skills'))

  screen.part('A repository of skills, a daemon and a client', performance.now())
  const repository = await makeRepository(join(folder.path, 'skills'))
  await using daemon = await step('the daemon to listen', stop, (signal) =>
    DaemonProcess.start(configFile, timeline, signal),
  )
  screen.step('started', daemon.url, performance.now())
  await showPull(timeline, stop)
  await using client = await step('the client to connect', stop, (signal) =>
    SkillClient.connect(daemon.url, timeline, signal),
  )
  screen.step('connected', `protocol ${REVISION}, ${client.server}`, performance.now())
  const heard = await step('the client to subscribe', stop, (signal) => client.subscribe(signal))
  screen.step('subscribed', heard, performance.now())

  await showRoundTrip(repository, client, timeline, stop)
  if (isOnce) return
  showAddresses(daemon.url, configFile, repository)
  await follow(client, timeline, stop)
}

async function makeRepository(folder: string): Promise<SkillRepository> {
  const examples = fileURLToPath(new URL('./skills', import.meta.url))
  const repository = await SkillRepository.create(folder, examples)
  const commit = await repository.commit('.', 'Six skills')
  screen.step('committed', `${short(commit)}  ${relative(process.cwd(), examples)}`, performance.now())
  return repository
}

/** The two lines that the daemon logs of a commit: where the ref points, and what was made of it. */
async function showPull(timeline: Timeline, stop: AbortSignal): Promise<void> {
  const seen = await logLine('source-resolved', timeline, stop)
  screen.step('resolved', resolved(seen.line), seen.atMs)
  const taken = await logLine('source-updated', timeline, stop)
  screen.step('catalogued', catalogued(taken.line), taken.atMs)
}

async function logLine(event: string, timeline: Timeline, stop: AbortSignal): Promise<Seen<'logged'>> {
  return step(`the daemon to say "${event}"`, stop, async (signal) => {
    const seen = await timeline.next(logged(event, 'pull-failed'), signal)
    if (seen.line.event === event) return seen
    throw new Error(`it says instead: ${String(seen.line['message'])}`)
  })
}

async function showRoundTrip(
  repository: SkillRepository,
  client: SkillClient,
  timeline: Timeline,
  stop: AbortSignal,
): Promise<void> {
  const paths = CHANGED.files.map((file) => `${CHANGED.skill}/${file}`)
  for (const path of paths) await repository.append(path, '\nOne more line, from the first minute.\n')
  const commit = await repository.commit(paths, `Say more in ${CHANGED.skill}`)
  screen.part('A commit, and how it reaches the client; the daemon looks once a second', performance.now())
  screen.step('committed', `${short(commit)}  ${paths.join(', ')}`, performance.now())
  await showPull(timeline, stop)

  const expected = new Map(paths.map((path) => [`skill://examples/${path}`, path]))
  const notified = await step('the client to be notified', stop, (signal) => notifications(timeline, signal))
  for (const { uri, atMs } of notified) screen.step('notified', uri, atMs)
  const uris = notified.map(({ uri }) => uri)
  if (uris.toSorted().join() !== [...expected.keys()].toSorted().join()) {
    throw new StepFailed(
      `The client was notified of ${uris.join(', ')}; changed were ${[...expected.keys()].join(', ')}`,
    )
  }
  const document = `skill://examples/${CHANGED.skill}/SKILL.md`
  for (const [uri, path] of expected) {
    const read = await step(`the client to read ${uri}`, stop, (signal) => client.read(document, uri, signal))
    const isRight = read.listed === `sha256:${read.sha256}` && (await repository.read(path)).equals(read.bytes)
    if (!isRight) throw new StepFailed(`${uri} has SHA-256 ${read.sha256}; skills/get says ${read.listed}`)
    screen.step(
      'verified',
      `${uri}  ${read.bytes.length} bytes, sha256 ${read.sha256.slice(0, 12)}…`,
      performance.now(),
    )
  }
}

/** A changed SKILL.md changes the list too, which is told last. */
async function notifications(timeline: Timeline, signal: AbortSignal): Promise<readonly Seen<'updated'>[]> {
  await timeline.next(ofKind('list-changed'), signal)
  const updated = ofKind('updated')
  const told: Seen<'updated'>[] = []
  for (let next = timeline.take(updated); next !== undefined; next = timeline.take(updated)) told.push(next)
  return told
}

function showAddresses(url: string, configFile: string, { folder }: SkillRepository): void {
  const http = { mcpServers: { skillsyncd: { type: 'http', url } } }
  const stdio = {
    mcpServers: { skillsyncd: { command: process.execPath, args: [PROGRAM, 'mcp', '--config', configFile] } },
  }
  screen.part('It stays up until Ctrl-C', 0)
  screen.text(
    `  For an MCP client over HTTP, ${url}:`,
    indented(http),
    '  or over stdio:',
    indented(stdio),
    '  To commit by hand, and watch it come through below:',
    '',
    `    cd ${folder}`,
    `    echo 'One more line, by hand.' >> ${CHANGED.skill}/SKILL.md`,
    `    git commit -am 'Say still more'`,
    '',
  )
}

/** Shows what is logged and notified until told to stop. */
async function follow(client: SkillClient, timeline: Timeline, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const seen = await timeline.next(anything, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error
    })
    if (seen === undefined) return
    if (seen.kind === 'updated') screen.update('notified', seen.uri)
    else if (seen.kind === 'logged') showLine(seen.line)
    // Files that are new are not subscribed to yet.
    else screen.update('subscribed', await client.subscribe(stop))
  }
}

function showLine(line: LogLine): void {
  switch (line.event) {
    case 'source-resolved':
      return screen.update('resolved', resolved(line))
    case 'source-updated':
      return screen.update('catalogued', catalogued(line))
    case 'pull-failed':
      return screen.update('failed', String(line['message']))
    default:
  }
}

function resolved({ ref, commit }: LogLine): string {
  return `${short(String(commit))}  ${String(ref)}`
}

function catalogued({ commit, served, seen, tookMs }: LogLine): string {
  return `${short(String(commit))}  ${String(served)} of ${String(seen)} skills served; the pull took ${String(tookMs)} ms`
}

function short(commit: string): string {
  return commit.slice(0, 7)
}

function indented(value: unknown): string {
  return `\n${JSON.stringify(value, null, 2)}\n`.replaceAll(/^(?=.)/gm, '    ')
}

/** A step did not happen, or not as it should: told without a stack. */
class StepFailed extends Error {}

/** Does one step, and fails if it takes too long. */
async function step<Result>(
  what: string,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const overdue = AbortSignal.timeout(STEP_MS)
  try {
    return await work(AbortSignal.any([stop, overdue]))
  } catch (cause) {
    stop.throwIfAborted()
    if (overdue.aborted) throw new StepFailed(`Waited ${STEP_MS / 1000} s for ${what}, in vain`, { cause })
    throw new StepFailed(`Waited for ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'skillsyncd-first-minute-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort())
  return controller.signal
}

const args = process.argv.slice(2)
if (args.some((arg) => arg !== '--once')) {
  process.stderr.write('Usage: npm start [-- --once]\n')
  process.exitCode = 2
} else {
  const stop = stopSignal()
  await main(args.includes('--once'), stop).catch((error: unknown) => {
    if (!stop.aborted && !(error instanceof StepFailed)) throw error
    process.exitCode = 1
    if (error instanceof StepFailed) process.stderr.write(`first-minute: ${error.message}\n`)
  })
}
