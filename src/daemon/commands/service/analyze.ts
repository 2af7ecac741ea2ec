import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Environment } from '../../config/environment.ts'
import type { ServiceFile } from './units.ts'

/** The result of one check. */
export interface UnitCheck {
  readonly check: string
  readonly ok: boolean
  /** Its output if it failed. */
  readonly said: readonly string[]
}

/** The maximum exposure of a unit, in tenths of the score of `systemd-analyze security`. */
const MOST_EXPOSED = { system: 15, user: 20 } as const

/** Runs systemd's checks on units that are not installed yet. `undefined` if there is no systemd. */
export async function analyze(
  units: readonly ServiceFile[],
  scope: 'system' | 'user',
  environment: Environment,
  signal: AbortSignal,
): Promise<readonly UnitCheck[] | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'skillsyncd-units-'))
  try {
    const files = units.map(({ path }) => join(folder, basename(path)))
    await Promise.all(units.map(async ({ text }, index) => writeFile(files[index] ?? '', text)))
    const run = async (check: string, args: readonly string[]): Promise<UnitCheck | undefined> => {
      const ended = await runAnalyze([`--${scope}`, ...args], folder, environment, signal)
      return ended && { check, ...ended }
    }
    const [service = ''] = files
    const threshold = MOST_EXPOSED[scope]
    const verified = await run('systemd-analyze verify', ['verify', '--recursive-errors=yes', ...files])
    const exposure = await run(`exposure at most ${(threshold / 10).toFixed(1)}`, [
      'security',
      '--offline=yes',
      '--no-pager',
      `--threshold=${threshold}`,
      service,
    ])
    return verified && exposure && [verified, exposure]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Failures appear on both streams, among one line for each check that passed. */
async function runAnalyze(
  args: readonly string[],
  folder: string,
  { path, home, runtime = folder }: Environment,
  signal: AbortSignal,
): Promise<Pick<UnitCheck, 'ok' | 'said'> | undefined> {
  const env = { PATH: path, HOME: home, XDG_RUNTIME_DIR: runtime, LC_ALL: 'C.UTF-8', SYSTEMD_COLORS: '0' }
  const { promise, resolve, reject } = Promise.withResolvers<Pick<UnitCheck, 'ok' | 'said'> | undefined>()
  execFile('systemd-analyze', args, { env, signal, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
    if (error?.code === 'ENOENT') return resolve(undefined)
    if (error?.code === 'ABORT_ERR') return reject(error)
    const lines = `${stderr}${stdout}`.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('✓'))
    resolve({ ok: error === null, said: error === null ? [] : lines })
  })
  return promise
}

const PATIENCE_MS = 60_000
