import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verifiedCount, verifiedOf, verifiedText } from '../../../src/daemon/status/verified-files.ts'
import type { Verified } from '../../../src/daemon/status/verified-files.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { problemsIn } from '../../support/verdicts.ts'

const SECRET = 'skill://hidden/secret/SKILL.md'

test('a skill of one SKILL.md with its declared digest is verified, and goes into folders; one with other files does not', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r2'
  au.skills.set('skill://one/SKILL.md', { 'SKILL.md': skill('one') })
  au.skills.set('skill://two/SKILL.md', { 'SKILL.md': skill('two'), 'a.md': 'a' })
  await using folder = await temporaryFolder()
  const links = join(folder.path, 'agent')
  const config = [`links: [{ to: ${links} }]`]

  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", approval: none, folders: true` }, { config })
  await mirror.pull()

  expect(mirror.findings('au')).toEqual(['not-verifiable two'])
  expect(await readdir(links)).toEqual(['one'])
  const [note] = problemsIn(mirror.source('au'))
  expect(note?.message).toContain('SKILL.md has the digest that the server declares; the other files have no digests')
  expect(verifiedIn(mirror)).toEqual([
    { files: 1, of: 1, undeclared: 0, only: 'SKILL.md' },
    { files: 1, of: 2, undeclared: 1, only: 'SKILL.md' },
  ])
})

test.each<{ verified: Verified; text: string; count: string }>([
  {
    verified: { files: 1, of: 1, undeclared: 0, only: 'SKILL.md' },
    text: '1 of 1 (SKILL.md): fetched, with the digest that the server declares',
    count: '1 of 1 (SKILL.md)',
  },
  {
    verified: { files: 1, of: 3, undeclared: 2, only: 'SKILL.md' },
    text: '1 of 1 (SKILL.md): fetched, with the digest that the server declares; the other files have no digests',
    count: '1 of 1 (SKILL.md)',
  },
  {
    verified: { files: 0, of: 3, undeclared: 3 },
    text: 'nothing of 3 files: the server declares no digests',
    count: '0 of 3 files',
  },
  {
    verified: { files: 2, of: 4, undeclared: 1 },
    text: '2 of 3 files: fetched, with the digests that the server declares; the other files have no digests',
    count: '2 of 3 files',
  },
  {
    verified: { files: 2, of: 2, undeclared: 0 },
    text: 'all 2 files: fetched, with the digests that the server declares',
    count: '2 of 2 files',
  },
])('$verified is said as it is declared', ({ verified, text, count }) => {
  expect([verifiedText(verified), verifiedCount(verified)]).toEqual([text, count])
})

test('a URI of the configuration is read without proof only with consent, on each machine alike, and why has the reason', async () => {
  await using au = await older()
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', `uris: ["${SECRET}"]`] })
  await home.command('sync')
  const asked = await Promise.all(
    ['skill://au/hidden/secret/SKILL.md', SECRET, 'au/hidden/secret'].map((name) => home.command('why', name)),
  )
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', `uris: [{ uri: "${SECRET}", unverified: true }]`] })

  await home.command('sync')

  const served = await home.command('list', '--served')
  for (const { status, stdout } of asked) {
    expect(status).toBe(0)
    expect(stdout).toContain(`{ uri: "${SECRET}", unverified: true }`)
    expect(stdout).toContain('skillsyncd mcp-source add --unverified')
  }
  expect(served.stdout).toContain('skill://au/hidden/secret')
})

test.each(['true', 'false'])('a URI of the configuration with unverified: %s says what it says', async (consent) => {
  await using au = await older()
  const uris = `uris: [{ uri: "${SECRET}", unverified: ${consent} }, "skill://plain/SKILL.md"]`

  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", approval: none, ${uris}` })

  const served = consent === 'true' ? ['skill://au/hidden/secret/SKILL.md'] : []
  expect(await mirror.urisListed()).toEqual(served)
  expect(mirror.findings('au')).toContain('entry-refused')
})

async function older(): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = 'index-r0'
  au.capabilities = { resources: {} }
  au.skills.set(SECRET, { 'SKILL.md': skill('secret') })
  au.skills.unlist(SECRET)
  return au
}

function verifiedIn(mirror: Mirror): readonly (Verified | undefined)[] {
  const snapshot = mirror.daemon.registry.catalog.snapshots.find(({ source }) => source === 'au')
  const skills = snapshot?.skills ?? []
  const kept = new Set(skills.flatMap(({ files }) => files.map(({ sha256 }) => sha256)))
  return skills.map((one) => verifiedOf(one, kept))
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nText\n`
}
