import { spawn } from 'node:child_process'
import { glob, mkdir, readFile, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Each program that `npm test` needs besides Node, git and a POSIX system, with a test that needs it. */
const PROGRAMS: Readonly<Record<string, readonly [file: string, name: string]>> = {
  bash: ['test/documents/commands.test.ts', 'is a script that bash can read'],
  fish: ['test/daemon/cli/completion.slow.test.ts', 'fish completes'],
  gpg: ['test/sync/signatures/openpgp-signature.slow.test.ts', 'signatures of OpenPGP'],
  groff: ['test/daemon/cli/manual.test.ts', 'groff renders'],
  haproxy: ['test/documents/files.test.ts', 'HAProxy takes'],
  nginx: ['test/documents/files.test.ts', 'nginx takes'],
  promtool: ['test/daemon/status/metrics/alerts.test.ts', 'promtool takes'],
  python3: ['test/sync/upstream/archive/unpack.law.slow.test.ts', 'Python as GNU'],
  script: ['test/daemon/commands/run/first-file.slow.test.ts', 'on a real terminal'],
  'ssh-keygen': ['test/sync/signatures/signed-object.slow.test.ts', 'signed objects'],
  sshd: ['test/daemon/commands/verify/second-opinion.slow.test.ts', 'over ssh and of a folder'],
  'systemd-analyze': ['test/daemon/commands/service/units.slow.test.ts', 'units have no fault'],
  zip: ['test/sync/upstream/archive/unpack.law.slow.test.ts', 'zip into a pipe'],
  zsh: ['test/daemon/cli/completion.slow.test.ts', 'zsh completes'],
}

/** The configuration of each lane, and whether it has the slow tests. */
const LANES = { 'vitest.config.ts': false, 'vitest.slow.config.ts': true }

/** Needs PostgreSQL first, which has no place on PATH. */
const BEHIND_OTHERS: ReadonlySet<string> = new Set(['openssl'])

test('without another program than Node and git, tests that need one are skipped with its name, and none fails', async () => {
  await using bin = await pathWithout(Object.keys(PROGRAMS))

  const skipped = new Set<string | undefined>()
  for (const [lane, isSlow] of Object.entries(LANES)) {
    const tests = Object.values(PROGRAMS).filter(([file]) => file.includes('.slow.') === isSlow)
    const { status, printed } = await runTests(lane, tests, bin.path)
    expect(status, printed.slice(-4000)).toBe(0)
    for (const [, program] of printed.matchAll(/there is no ([\w-]+) on PATH/g)) skipped.add(program)
  }

  expect(skipped).toEqual(new Set(Object.keys(PROGRAMS)))
})

test('every program that a test asks for is among them', async () => {
  const asked = new Set<string>()
  for await (const file of glob('test/**/*.ts', { cwd: ROOT })) {
    if (/^test\/(?:faults|peers|agents|systemd|e2e)\//.test(file)) continue
    const source = await readFile(join(ROOT, file), 'utf8')
    for (const [, list = ''] of source.matchAll(
      /(?:hasProgram|neededProgram|describeWith)\(\[?((?:'[\w-]+'(?:, )?)+)/g,
    ))
      for (const [, program = ''] of list.matchAll(/'([\w-]+)'/g)) asked.add(program)
  }

  expect([...asked].filter((program) => !(program in PROGRAMS) && !BEHIND_OTHERS.has(program))).toEqual([])
  expect(asked.size).toBeGreaterThan(BEHIND_OTHERS.size)
})

/** A folder of links to all programs of PATH but these. */
async function pathWithout(names: readonly string[]) {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'bin')
  await mkdir(path)
  const seen = new Set(names)
  for (const from of (process.env['PATH'] ?? '').split(':'))
    for (const name of await readdir(from).catch(() => [])) {
      if (seen.has(name)) continue
      seen.add(name)
      await symlink(join(from, name), join(path, name))
    }
  return { path, [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose]() }
}

async function runTests(lane: string, tests: readonly (readonly [file: string, name: string])[], path: string) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const files = new Set(tests.map(([file]) => file))
  const names = tests.map(([, name]) => name).join('|')
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', lane, '--reporter=verbose', '-t', names, ...files],
    {
      cwd: ROOT,
      env: { ...process.env, PATH: path, VITEST: undefined, NO_COLOR: '1', GIT_EXEC_PATH: undefined },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const [status, stdout, stderr] = await Promise.all([
    new Promise<number | null>((resolve) => child.once('close', resolve)),
    text(child.stdout),
    text(child.stderr),
  ])
  return { status, printed: stdout + stderr }
}
