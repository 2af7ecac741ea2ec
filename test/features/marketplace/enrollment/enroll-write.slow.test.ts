import { chmod, lstat, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { Home } from '../../../support/process/program.ts'

const TOKEN = `sks_${'k'.repeat(43)}`
const URL = 'https://127.0.0.1:1/marketplace.git'

async function enrolledHome(): Promise<Home> {
  const home = await Home.create()
  await home.configure({ team: ['url: https://git.example.com/team.git'] })
  const text = await readFile(home.configFile, 'utf8')
  const serve = 'serve: { http: { public_url: "https://127.0.0.1:1" }, marketplace: { name: acme } }'
  await writeFile(home.configFile, text.replace(/^serve: .*$/m, serve))
  return home
}

async function put(home: Home, name: string, text: string | Uint8Array, mode = 0o644): Promise<string> {
  const path = join(home.path, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  await chmod(path, mode)
  return path
}

test('the files of a person are written, and a second run changes nothing', async () => {
  const home = await enrolledHome()
  const settings = await put(home, '.claude/settings.json', '{\n  // mine\n  "theme": "dark"\n}\n', 0o640)

  const first = await home.command('hub', 'enroll', 'claude-code', 'codex', 'vscode', '--write', '--yes')

  expect(first).toMatchObject({ status: 0, stdout: expect.stringContaining('wrote 3 files') })
  const claude = await readFile(settings, 'utf8')
  expect(claude.startsWith('{\n  // mine\n  "theme": "dark",\n  "extraKnownMarketplaces": {\n')).toBe(true)
  expect(JSON.parse(claude.replace('// mine', ''))).toEqual({
    theme: 'dark',
    extraKnownMarketplaces: { acme: { source: { source: 'git', url: URL }, autoUpdate: true } },
    enabledPlugins: { 'skills@acme': true },
  })
  expect((await stat(settings)).mode & 0o777).toBe(0o640)
  const codex = join(home.path, '.codex/config.toml')
  expect(parse(await readFile(codex, 'utf8'))).toEqual({
    marketplaces: { acme: { source_type: 'git', source: URL } },
    plugins: { 'skills@acme': { enabled: true } },
  })
  expect((await stat(codex)).mode & 0o777).toBe(0o600)
  const vscode = await readFile(join(home.path, 'config/Code/User/settings.json'), 'utf8')
  expect(JSON.parse(vscode)).toEqual({ 'chat.plugins.marketplaces': [URL] })
  expect(await readdir(join(home.path, '.claude'))).toEqual(['settings.json'])

  const again = await home.command('hub', 'enroll', 'claude-code', 'codex', 'vscode', '--write', '--json', '--yes')

  expect(JSON.parse(again.stdout).files.map(({ state }: { state: string }) => state)).toEqual(
    Array.from({ length: 3 }, () => 'as-expected'),
  )
  expect(await readFile(settings, 'utf8')).toBe(claude)
})

test('nothing is written without an answer, and only with yes', async () => {
  const home = await enrolledHome()
  const args = ['hub', 'enroll', 'claude-code', '--write']
  const path = join(home.path, '.claude/settings.json')

  expect(await home.command(...args)).toMatchObject({ status: 2, stderr: expect.stringContaining('no terminal') })
  expect(await home.command(...args, '--dry-run')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('+enabledPlugins → skills@acme: true'),
  })
  expect(await home.typing(['n'], ...args)).toMatchObject({ status: 1 })
  await expect(stat(dirname(path))).rejects.toThrow('ENOENT')
  expect(await home.typing(['y'], ...args)).toMatchObject({ status: 0 })
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('an agent without a file has its commands, which is said', async () => {
  const home = await enrolledHome()

  const { stdout, status } = await home.command('hub', 'enroll', 'copilot', '--write', '--yes')

  expect(status).toBe(0)
  expect(stdout).toContain('Copilot CLI: no file is known to work')
  expect(stdout).toContain(`copilot plugin marketplace add ${URL}`)
})

test('an organization has its files below another root, out of which no link leads', async () => {
  const home = await enrolledHome()
  const root = join(home.path, 'image')
  await mkdir(join(root, 'etc'), { recursive: true })
  const args = ['hub', 'enroll', 'claude-code', 'codex', '--organization', '--write', '--yes', '--root', root]

  expect(await home.command(...args)).toMatchObject({ status: 0 })
  const managed = join(root, 'etc/claude-code/managed-settings.json')
  expect(JSON.parse(await readFile(managed, 'utf8'))).toMatchObject({
    strictKnownMarketplaces: [{ source: 'hostPattern', hostPattern: String.raw`^127\.0\.0\.1$` }],
  })
  expect((await stat(managed)).mode & 0o777).toBe(0o644)
  expect((await stat(dirname(managed))).mode & 0o777).toBe(0o755)
  expect(parse(await readFile(join(root, 'etc/codex/requirements.toml'), 'utf8'))).toMatchObject({
    marketplaces: { restrict_to_allowed_sources: true, allowed_sources: { acme: { source: 'host_pattern' } } },
  })

  const outside = join(home.path, 'outside')
  await mkdir(outside)
  await mkdir(join(home.path, 'other/etc'), { recursive: true })
  await symlink(outside, join(home.path, 'other/etc/codex'))
  const other = await home.command(...args.slice(0, -1), join(home.path, 'other'))

  expect(other).toMatchObject({ status: 1, stderr: expect.stringContaining('a link in it leads out of') })
  expect(await readdir(outside)).toEqual([])
})

test('the token is given to git by ~/.netrc, and is shown nowhere', async () => {
  const home = await enrolledHome()
  const file = await put(home, 'token', `${TOKEN}\n`, 0o600)
  const args = ['hub', 'enroll', 'claude-code', '--write', '--yes', '--token-file', file]
  const netrc = join(home.path, '.netrc')

  const { status, stdout, stderr } = await home.command(...args)

  expect(status).toBe(0)
  expect(stdout + stderr).not.toContain('kkkk')
  expect(await readFile(netrc, 'utf8')).toBe(`machine 127.0.0.1 login token password ${TOKEN}\n`)
  expect((await stat(netrc)).mode & 0o777).toBe(0o600)
  expect((await home.command(...args)).stdout).toContain(`${netrc}: as expected`)

  await put(home, '.netrc', 'machine 127.0.0.1 login me password s3cret-of-me\n', 0o600)
  const other = await home.command(...args)
  expect(other).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('line 1: machine 127.0.0.1 has another'),
  })
  expect(other.stdout + other.stderr).not.toMatch(/kkkk|s3cret/)

  await put(home, '.netrc', 'machine other login me password s3cret-of-me\n', 0o644)
  expect(await home.command(...args)).toMatchObject({ status: 1, stderr: expect.stringContaining('chmod 600') })
})

test('a linked file is written through its link', async () => {
  const home = await enrolledHome()
  const target = await put(home, 'dotfiles/claude.json', '{}\n')
  await mkdir(join(home.path, '.claude'))
  const path = join(home.path, '.claude/settings.json')
  await symlink(target, path)

  expect(await home.command('hub', 'enroll', 'claude-code', '--write', '--yes')).toMatchObject({ status: 0 })

  expect((await lstat(path)).isSymbolicLink()).toBe(true)
  expect(JSON.parse(await readFile(target, 'utf8'))).toMatchObject({ enabledPlugins: { 'skills@acme': true } })
})

test.each([
  ['line 1: the key "theme" is there twice', '{"theme": "dark", "theme": "light"}'],
  ['"enabledPlugins" is not an object', '{"enabledPlugins": []}'],
  ['it is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ['it has more than 1048576 bytes', `{"a": "${'a'.repeat(2 ** 20)}"}`],
])('where one file is refused, no file is written: %s', async (message, text) => {
  const home = await enrolledHome()
  const path = await put(home, '.claude/settings.json', text)
  const before = await readFile(path)

  const { status, stderr } = await home.command('hub', 'enroll', 'codex', 'claude-code', '--write', '--yes')

  expect(status).toBe(1)
  expect(stderr).toContain(message)
  expect(await readFile(path)).toEqual(before)
  await expect(stat(join(home.path, '.codex'))).rejects.toThrow('ENOENT')
})

test.each([
  [['--write'], 'wants the names of agents'],
  [['codex', '--yes'], '--yes goes with --write'],
  [['codex', '--write', '--root', '/x'], '--root goes with --organization'],
  [['codex', '--organization', '--write', '--token-file', '/x'], 'exclude each other'],
])('%j is refused', async (args, message) => {
  const home = await enrolledHome()

  expect(await home.command('hub', 'enroll', ...args)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(message),
  })
})
