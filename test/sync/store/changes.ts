import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { lstat, readFile, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { lawRuns } from '../../support/law-runs.ts'

const CHILD = fileURLToPath(new URL('change-child.ts', import.meta.url))
const BUILT = new URL('../../../dist/sync/store', import.meta.url).href
const STRIPPING = ['--experimental-strip-types', '--no-warnings']

/** Work on a state folder, in a process of its own. `file` is that of the backup. */
export interface Change {
  readonly work: 'backup' | 'restore' | 'checkout'
  readonly state: string
  readonly file?: string
}

/** The call that changes something before which, or in which, a process is killed. */
export interface KillAt {
  readonly call: number
  readonly moment: 'before' | 'in'
}

/** Does the work, and returns true if it was killed in it. */
export async function isKilledIn({ work, state, file = '' }: Change, { call, moment }: KillAt): Promise<boolean> {
  const args = [...STRIPPING, CHILD, BUILT, work, state, file, `${call}`, moment]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close')
  const complained = await text(child.stderr)
  const [status, signal]: unknown[] = await closed

  expect(complained).toBe('')
  expect([
    [0, null],
    [null, 'SIGKILL'],
  ]).toContainEqual([status, signal])
  return signal === 'SIGKILL'
}

/** Calls `attempt` with one call after the other until it is not killed in it. Returns the number of that call. */
export async function killAtCalls(attempt: (call: number) => Promise<boolean>): Promise<number> {
  let call = 1 + randomInt(STRIDE)
  while (await attempt(call)) call += STRIDE
  return call
}

/** One in eight of the calls, each time others; with `LAW_RUNS=all` every call. */
const STRIDE = 8 / lawRuns(8, 1 / 8)

/** The moments of kills that a test tries: all with `LAW_RUNS=all`, else the first. */
export const MOMENTS = (['before', 'in'] as const).slice(0, lawRuns(2, 1 / 2))

/** All that a state folder has: what differs between two with this picture is nothing that a user sees. */
export interface Picture {
  readonly objects: readonly string[]
  readonly heads: readonly string[]
  readonly files: Readonly<Record<string, string>>
}

export async function pictureOf(state: string): Promise<Picture> {
  return { ...databaseIn(state), files: Object.fromEntries(await filesIn(state, '')) }
}

function databaseIn(state: string): Pick<Picture, 'objects' | 'heads'> {
  using database = new DatabaseSync(join(state, 'store.db'))
  const lines = (sql: string): string[] =>
    database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(' '))
  return {
    objects: lines("SELECT lower(hex(digest)), size, coalesce(label, '') FROM object ORDER BY digest"),
    heads: lines('SELECT sequence, lower(hex(generation)) FROM head ORDER BY sequence'),
  }
}

async function filesIn(root: string, below: string): Promise<[string, string][]> {
  const files: [string, string][] = []
  for (const name of (await readdir(join(root, below))).toSorted()) {
    const path = join(below, name)
    if (path.startsWith('store.db')) continue
    const found = await lstat(join(root, path))
    if (found.isDirectory()) files.push([`${path}/`, ''], ...(await filesIn(root, path)))
    else if (found.isSymbolicLink()) files.push([path, `-> ${await readlink(join(root, path))}`])
    else files.push([path, `${(found.mode & 0o777).toString(8)} ${await readFile(join(root, path), 'base64')}`])
  }
  return files
}
