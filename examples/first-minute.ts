// skillsyncd in one minute, without a network: a git repository, the daemon, an MCP client that subscribes, a commit, and its
// way to the client. `--once` ends after that; without it the daemon runs until Ctrl-C.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SkillClient } from './first-minute/client.ts'
import { DaemonProcess, writeConfig } from './first-minute/daemon.ts'
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

  const repository = await makeRepository(join(folder.path, 'skills'))
  await using daemon = await step('the daemon to listen', stop, (signal) =>
    DaemonProcess.start(configFile, timeline, signal),
  )
  for (const event of ['source-resolved', 'source-updated']) await logLine(event, timeline, stop)
  showAddresses(daemon.url)
  await using client = await step('the client to connect', stop, (signal) =>
    SkillClient.connect(daemon.url, timeline, signal),
  )
  await step('the client to subscribe', stop, (signal) => client.subscribe(signal))

  await showRoundTrip(repository, client, timeline, stop)
  if (isOnce) return
  showSuggestions(daemon.url, repository)
  await follow(client, timeline, stop)
}

async function makeRepository(folder: string): Promise<SkillRepository> {
  const examples = fileURLToPath(new URL('./skills', import.meta.url))
  const repository = await SkillRepository.create(folder, examples)
  await repository.commit('.', 'Six skills')
  return repository
}

function showAddresses(url: string): void {
  screen.text(
    '',
    'skillsyncd serves the six skills of examples/skills out of a git repository.',
    '',
    `  Page  ${new URL('/', url).href}`,
    `  MCP   ${url}`,
  )
}

async function logLine(event: string, timeline: Timeline, stop: AbortSignal): Promise<Seen<'logged'>> {
  return step(`the daemon to log "${event}"`, stop, async (signal) => {
    const seen = await timeline.next(logged(event, 'pull-failed'), signal)
    if (seen.line.event === event) return seen
    throw new Error(`it logged instead: ${String(seen.line['message'])}`)
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
  screen.part('A commit, and its way to a client that subscribed:', performance.now())
  screen.step('committed', `${short(commit)}  ${paths.length} files of ${CHANGED.skill}`, performance.now())
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
    screen.step('verified', `${read.sha256.slice(0, 12)}  ${path}`, performance.now())
  }
}

/** Shows the two lines that the daemon logs of a commit: the ref is resolved, and the skills are served. */
async function showPull(timeline: Timeline, stop: AbortSignal): Promise<void> {
  const seen = await logLine('source-resolved', timeline, stop)
  screen.step('resolved', `${resolved(seen.line)}, polled every second`, seen.atMs)
  const taken = await logLine('source-updated', timeline, stop)
  screen.step('served', served(taken.line), taken.atMs)
}

/** The notification of the list, which a changed SKILL.md changes too, comes last. */
async function notifications(timeline: Timeline, signal: AbortSignal): Promise<readonly Seen<'updated'>[]> {
  await timeline.next(ofKind('list-changed'), signal)
  const updated = ofKind('updated')
  const told: Seen<'updated'>[] = []
  for (let next = timeline.take(updated); next !== undefined; next = timeline.take(updated)) told.push(next)
  return told
}

function showSuggestions(url: string, { folder }: SkillRepository): void {
  screen.text(
    '',
    'It runs until Ctrl-C. Try this:',
    '',
    '  Open the page:',
    `    ${new URL('/', url).href}`,
    '  Connect an agent:',
    `    claude mcp add --transport http demo ${url}`,
    `    codex mcp add demo --url ${url}`,
    '    Cursor, in ~/.cursor/mcp.json:',
    `    ${JSON.stringify({ mcpServers: { demo: { url } } })}`,
    '  Commit, and watch it arrive below:',
    `    cd ${folder}`,
    `    echo 'One more line.' >> ${CHANGED.skill}/SKILL.md`,
    `    git commit -am 'Say still more'`,
    '',
  )
}

/** Shows log lines and notifications until `stop` is aborted. */
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
      return screen.update('served', served(line))
    case 'pull-failed':
      return screen.update('failed', String(line['message']))
    default:
  }
}

function resolved({ ref, commit }: LogLine): string {
  return `${short(String(commit))}  ${String(ref)}`
}

function served({ served: count, seen, tookMs }: LogLine): string {
  return `${String(count)} of ${String(seen)} skills, ${String(tookMs)} ms after the pull began`
}

function short(commit: string): string {
  return commit.slice(0, 7)
}

/** A step that did not happen, or not as it should. It is printed without a stack. */
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
    if (overdue.aborted) throw new StepFailed(`Waited ${STEP_MS / 1000} s for ${what}, which did not happen`, { cause })
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
