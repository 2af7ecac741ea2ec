import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { faultsIn } from '../../../support/checks.ts'
import { Authority } from '../../../support/http/certificates.ts'
import { Scene, skill } from '../../../support/http/marketplace.ts'
import { Home } from '../../../support/process/program.ts'

let scene: Scene

beforeAll(async () => {
  scene = await Scene.hub({ 'write-letter/SKILL.md': skill('write-letter'), 'tidy/SKILL.md': skill('tidy') })
})
afterAll(async () => scene?.[Symbol.asyncDispose]())

/** A home of a person, whose configuration names the hub. */
async function homeAt(origin = scene.origin): Promise<Home> {
  const home = await Home.create()
  await home.configure({ team: ['url: https://git.example.com/team.git'] })
  const text = await readFile(home.configFile, 'utf8')
  const serve = `serve: { http: { public_url: "${origin}" }, marketplace: { name: acme } }`
  await writeFile(home.configFile, text.replace(/^serve: .*$/m, serve))
  return home
}

async function tokenFile(home: Home, token: string): Promise<string> {
  const path = join(home.path, 'token')
  await writeFile(path, token, { mode: 0o600 })
  return path
}

test('after a write with a token all is as expected, and the address answers', async () => {
  const home = await homeAt()
  const file = await tokenFile(home, await scene.token(['marketplace']))

  const written = await home.command('hub', 'enroll', 'claude-code', 'codex', '--write', '--yes', '--token-file', file)
  expect(written.stdout).toContain(`ok    marketplace ${scene.url}: answers git, with the token of ~/.netrc`)

  const { status, stdout } = await home.command('hub', 'enroll', 'claude-code', 'codex', '--check', '--json')
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    counts: { ok: 3, warn: 0, fail: 0, unknown: 0 },
    checks: [
      { check: 'agent-file', subject: expect.stringMatching(/^Claude Code: /), verdict: 'ok', message: 'as expected' },
      { check: 'agent-file', subject: expect.stringMatching(/^Codex: /), verdict: 'ok' },
      { check: 'marketplace', subject: scene.url, verdict: 'ok' },
    ],
  })
})

test('each file has its state: absent, different or unreadable', async () => {
  const home = await homeAt()
  await mkdir(join(home.path, '.claude'))
  await mkdir(join(home.path, '.codex'))
  const claude = join(home.path, '.claude/settings.json')
  await writeFile(claude, '{"enabledPlugins": {"skills@acme": false}}')
  await writeFile(join(home.path, '.codex/config.toml'), '[marketplaces.acme]\nsource = "https://other"\n')

  const { status, stdout } = await home.command('hub', 'enroll', 'claude-code', 'codex', 'vscode', '--check', '--json')

  expect(status).toBe(3)
  expect(faultsIn(stdout)).toMatchObject([
    {
      message: 'differs: extraKnownMarketplaces → acme, enabledPlugins → skills@acme',
      fix: 'skillsyncd hub enroll claude-code --write',
    },
    { message: 'differs: line 1: [marketplaces.acme] is there with other values' },
    { message: 'absent', fix: 'skillsyncd hub enroll vscode --write' },
    { check: 'marketplace' },
  ])
  await writeFile(claude, '{"enabledPlugins": ')
  expect((await home.command('hub', 'enroll', 'claude-code', '--check')).stdout).toMatch(
    /^fail {2}agent-file Claude Code: .*settings\.json: unreadable: line 1: a value of JSON is expected$/m,
  )
})

test('a managed file that allows other marketplaces alone is found', async () => {
  const home = await homeAt()
  const root = join(home.path, 'image')
  await mkdir(join(root, 'etc/claude-code'), { recursive: true })
  const path = join(root, 'etc/claude-code/managed-settings.json')
  await writeFile(path, '{"strictKnownMarketplaces": [{"source": "git", "url": "https://other/x.git"}]}')

  const args = ['hub', 'enroll', 'claude-code', '--check', '--organization', '--root', root]
  const { status, stdout } = await home.command(...args)

  expect(status).toBe(3)
  expect(stdout).toContain(`fail  managed-rule claude-code: ${path}: strictKnownMarketplaces does not name this one`)
})

test.each([
  ['no token', undefined, 'answers 401 and no credential was sent', '--scope marketplace'],
  ['a token that is not valid', `sks_${'x'.repeat(43)}`, 'answers 401 to the credential', 'not valid there'],
  ['a token of another scope', 'skills', 'answers 403 to the credential', 'lacks the scope marketplace'],
])('with %s the address refuses, and the remedy is named', async (_, token, message, mend) => {
  const home = await homeAt()
  const given = token === 'skills' ? await scene.token(['skills']) : token
  if (given !== undefined) {
    const netrc = `machine 127.0.0.1 login token password ${given}\n`
    await writeFile(join(home.path, '.netrc'), netrc, { mode: 0o600 })
  }

  const { status, stdout, stderr } = await home.command('hub', 'enroll', '--check')

  expect(status).toBe(3)
  expect(stdout).toContain(message)
  expect(stdout).toContain(mend)
  expect(stdout + stderr).not.toContain(given ?? 'sks_')
})

test('an address whose certificate is not trusted is told from one that is, by the authorities of git', async () => {
  const authority = new Authority()
  const server = createServer(authority.vouchFor(['127.0.0.1']), (_, response) => response.writeHead(404).end())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const home = await homeAt(`https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)

  expect((await home.command('hub', 'enroll', '--check')).stdout).toContain(
    'the certificate is not from a trusted authority',
  )
  home.env['GIT_SSL_CAINFO'] = join(home.path, 'ca.pem')
  await writeFile(home.env['GIT_SSL_CAINFO'], authority.cert)
  expect((await home.command('hub', 'enroll', '--check')).stdout).toContain('the host answers 404')
})

test('a netrc that others can read is a finding', async () => {
  const home = await homeAt()
  await writeFile(join(home.path, '.netrc'), '')
  await chmod(join(home.path, '.netrc'), 0o644)

  const { status, stdout } = await home.command('hub', 'enroll', '--check')

  expect(status).toBe(3)
  expect(stdout).toContain('other users can read it (mode 644)')
})

test('an agent that was not named and has no file is no failure, and one that was named is', async () => {
  const home = await homeAt()
  const file = await tokenFile(home, await scene.token(['marketplace']))
  await home.command('hub', 'enroll', 'claude-code', 'codex', '--write', '--yes', '--token-file', file)

  const all = await home.command('hub', 'enroll', '--check')
  const named = await home.command('hub', 'enroll', 'vscode', '--check')

  expect(all).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok {4}agent-file VS Code: .*absent/m) })
  expect(all.stdout).not.toContain('fail')
  expect(named).toMatchObject({ status: 3, stdout: expect.stringContaining('fail  agent-file VS Code') })
})
