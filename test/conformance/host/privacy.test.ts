import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { digestOf } from '../../support/hostile/hostile-skills.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const URI = 'skill://refunds/SKILL.md'
const OPEN = { 'SKILL.md': skill('refunds', 'for both') }

test('of one server asked with two credentials, nothing that one of them is given is given out as that of the other', async () => {
  await using au = await privateServer()
  await using tokens = await credentials()
  await using mirror = await Mirror.start({ ada: tokens.of('ada', au), bob: tokens.of('bob', au) })

  const listed = await mirror.urisListed()
  const ofAda = await mirror.bytesOf('skill://ada/refunds/SKILL.md')
  const ofBob = await mirror.bytesOf('skill://bob/refunds/SKILL.md')

  expect(listed).toEqual([
    'skill://ada/refunds/SKILL.md',
    'skill://ada/secret-of-ada/SKILL.md',
    'skill://bob/refunds/SKILL.md',
    'skill://bob/secret-of-bob/SKILL.md',
  ])
  expect(await mirror.bytesOf('skill://bob/secret-of-ada/SKILL.md')).toBe(-32_602)
  expect([String(ofAda), ofBob]).toEqual([OPEN['SKILL.md'], -32_603])
  expect(await readdir(join(mirror.state, 'upstreams', 'bob')).catch(() => [])).not.toContain('files')
})

test('what another server gave is private in every answer, and what git gave is public', async () => {
  await using au = await privateServer()
  await using tokens = await credentials()
  await using mirror = await Mirror.start({ ada: tokens.of('ada', au) })
  await using plain = await Mirror.start({ folder: `path: "${tokens.path}"` })

  const scopes = async ({ peer }: Mirror): Promise<unknown[]> => {
    const asked = ['server/discover', 'skills/list', 'resources/list', 'tools/list'].map((method) => peer.call(method))
    return [...new Set((await Promise.all(asked)).map(({ result }) => result.cacheScope))]
  }

  expect((await mirror.read('skill://ada/refunds/SKILL.md')).result.cacheScope).toBe('private')
  expect([await scopes(mirror), await scopes(plain)]).toEqual([['private'], ['public']])
})

test('status says of a server that calls its skills private that whoever may ask is given them', async () => {
  await using au = await privateServer()
  au.cacheScope = 'private'
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none'] })
  const daemon = home.start('start')
  await daemon.said((line) => line.includes('"source-updated"'))

  const loud = await home.command('status')
  au.cacheScope = 'public'
  await home.command('sync')
  const silent = await home.command('status')

  expect(loud.stdout).toMatch(/private to the sent credential; .* every client with access gets it/)
  expect(silent.stdout).not.toContain('private')
  await daemon.stop()
})

/** It has one skill for all and one for each, and gives the files to Ada alone. */
async function privateServer(): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.cacheScope = 'private'
  au.skills.set(URI, OPEN)
  au.on('skills/list', (_, { headers }) => {
    const own = `secret-of-${headers.authorization?.split(' ')[1] ?? 'nobody'}`
    return { skills: [entryOf('refunds', OPEN['SKILL.md']), entryOf(own, skill(own))] }
  })
  au.on('resources/read', (_, { headers }) => (headers.authorization === 'Bearer ada' ? undefined : { contents: [] }))
  return au
}

function entryOf(name: string, text: string): object {
  const uri = `skill://${name}/SKILL.md`
  const resources = [{ uri, digest: digestOf(Buffer.from(text)), size: Buffer.byteLength(text) }]
  return { uri, frontmatter: { name, description: 'd' }, resources }
}

interface Credentials extends AsyncDisposable {
  readonly path: string
  of(name: string, au: HostileServer): string
}

async function credentials(): Promise<Credentials> {
  const folder = await temporaryFolder()
  for (const name of ['ada', 'bob']) await writeFile(join(folder.path, name), name)
  return {
    path: folder.path,
    of: (name, au) => `mcp: "${au.url}", approval: none, auth: { token: { file: "${join(folder.path, name)}" } }`,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
