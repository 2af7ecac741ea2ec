import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openProject } from '../test/support/process/installer.ts'
import type { Project } from '../test/support/process/installer.ts'
import { Contenders, LIMIT_MS } from './contenders.ts'
import { startDaemon, writeSettings } from './daemon.ts'
import { rounds, timed } from './figure.ts'
import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('../dist/program/main.js', import.meta.url))

/** Everything that a repository has, brought to where there is nothing; and looked for again when nothing has changed. */
export async function measureInstall(ground: Ground, count: number, times: number): Promise<Figure[]> {
  // All that was written stays until the end: a disk is slow to make files where many were removed.
  const upstream = await ground.skills(count)
  const folder = await ground.fresh()
  await using kept = new AsyncDisposableStack()
  const synced: string[] = []
  const projects: Project[] = []
  const peers = new Contenders(`${count} skills`)
  const installed = await rounds(times, [
    async () => {
      const settings = join(folder, `${synced.length}`)
      synced.push(settings)
      await mkdir(settings)
      const { file } = await writeSettings(settings, { bench: [`url: ${upstream.url}`] })
      await run('sync', ['-f', folder])
      return { [`sync of ${count}`]: await timed(() => sync(file, `${count} of ${count} skills served`)) }
    },
    peers.run('skills', async () => {
      const project = kept.use(await openProject({ limitMs: LIMIT_MS }))
      projects.push(project)
      await run('sync', ['-f', folder])
      const add = ['add', upstream.url, '--skill', '*', '--agent', 'claude-code', '--copy', '--yes']
      const ms = await timed(() => runInstaller(project, add, 'Done!'))
      const folders = await readdir(join(project.folder, '.claude', 'skills'))
      if (folders.length !== count) throw new Error(`It has installed ${folders.length} skills`)
      return { [`skills add of ${count}`]: ms }
    }),
  ])
  const [first = '', second = ''] = synced
  await using daemon = await startDaemon(first, upstream.url)
  const unchanged = await rounds(times, [
    async () => ({
      [`sync again of ${count}`]: await timed(() => sync(join(second, 'skillsyncd.yaml'), 'unchanged')),
    }),
    async () => ({ [`poll of ${count}`]: await timed(() => daemon.sync()) }),
    peers.run('skills', async () => {
      const project = projects.at(-1)
      if (project === undefined) throw new TypeError('Nothing was installed')
      const update = ['update', '--yes', '--project']
      return { [`skills update of ${count}`]: await timed(() => runInstaller(project, update, 'are up to date')) }
    }),
  ])
  const theirs = `skills update of ${count}`
  return [
    ...peers.figures(installed, [{ ours: `sync of ${count}`, peer: 'skills', theirs: `skills add of ${count}` }]),
    ...peers.figures(unchanged, [
      { ours: `sync again of ${count}`, peer: 'skills', theirs },
      { ours: `poll of ${count}`, peer: 'skills', theirs },
    ]),
  ]
}

/** One sync by a process of its own, from its start to its end. */
export async function sync(file: string, expected: string): Promise<void> {
  const { stdout } = await run(process.execPath, [MAIN, 'sync', '--config', file, '--quiet'])
  if (!stdout.includes(expected)) throw new Error(`The sync says "${stdout.trim()}", and not "${expected}"`)
}

async function runInstaller(project: Project, args: readonly string[], expected: string): Promise<void> {
  const { status, printed } = await project.run(...args)
  if (status === null) throw new Error(`"skills ${args[0]}" was not done after ${LIMIT_MS / 1_000} s`)
  if (status !== 0 || !printed.includes(expected))
    throw new Error(`"skills ${args[0]}" ended with ${status}: ${printed.slice(-200)}`)
}
