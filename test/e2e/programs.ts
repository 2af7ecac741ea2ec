import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { GitServer } from '../support/git/git-server.ts'
import { Repository, runGit } from '../support/git/repository.ts'
import type { Content } from '../support/git/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'
import type { Place } from './clients.ts'

const MAIN = fileURLToPath(new URL('../../dist/program/main.js', import.meta.url))

/** A repository on a git server, a clone of it to push from, and a configuration that serves it as the source `fx`. */
export interface Site extends AsyncDisposable {
  readonly configFile: string
  readonly state: string
  /** Commits in the clone and pushes: the given paths are set, `null` removes one. */
  push(files: Readonly<Record<string, string | null>>): Promise<void>
}

/** `every` is how often the source is polled. */
export async function openSite(files: Readonly<Record<string, Content>>, every = '1s'): Promise<Site> {
  const folder = await temporaryFolder()
  const repository = await Repository.create()
  await repository.commit(files)
  const git = await GitServer.start()
  const clone = join(folder.path, 'clone')
  const state = join(folder.path, 'state')
  const url = git.serve('fx', repository)
  await runGit(['clone', '--quiet', url, clone])
  const source = ['id: fx', `url: ${url}`, 'root: skills', `every: ${every}`]
  const configFile = join(folder.path, 'skillsyncd.yaml')
  await writeFile(configFile, `sources:\n  - ${source.join('\n    ')}\nstate: ${state}\n`)
  return {
    configFile,
    state,
    push: (changes) => push(clone, changes),
    async [Symbol.asyncDispose]() {
      await git[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function push(clone: string, changes: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [path, content] of Object.entries(changes)) {
    const file = join(clone, path)
    if (content === null) await rm(file)
    else {
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
  }
  await runGit(['add', '--all'], { cwd: clone })
  await runGit(['commit', '--quiet', '--message=change'], { cwd: clone })
  await runGit(['push', '--quiet', 'origin', 'main'], { cwd: clone })
}

/** `skillsyncd start` as a process of its own. Disposing it asks it to stop, and waits until it has. */
export interface DaemonProcess extends AsyncDisposable {
  /** Where MCP is: the first line that it prints. */
  readonly url: string
  readonly pid: number | undefined
}

export async function startDaemon({ configFile }: Site): Promise<DaemonProcess> {
  const child = spawn(process.execPath, [MAIN, 'start', '--config', configFile, '--port', '0', '--quiet'])
  const complaint = text(child.stderr)
  const ended = once(child, 'exit')
  const firstLine = once(createInterface({ input: child.stdout }), 'line')
  const [url] = await Promise.race([firstLine, ended.then(() => fail('start', complaint))])
  return { url, pid: child.pid, [Symbol.asyncDispose]: () => stop(child, ended) }
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

/** Runs one command to its end. */
export async function runSkillsyncd({ configFile }: Site, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args, '--config', configFile])
  const [printed, complaint, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  if (status !== 0) await fail(args.join(' '), complaint)
  return printed
}

/** What a stdio client runs. */
export function mcpProgram({ configFile }: Site): Place {
  return { command: process.execPath, args: [MAIN, 'mcp', '--config', configFile], stderr: 'ignore' }
}

async function fail(command: string, complaint: string | Promise<string>): Promise<never> {
  throw new Error(`skillsyncd ${command} failed: ${await complaint}`)
}
