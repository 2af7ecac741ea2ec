import { readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { problemsIn } from '../../support/verdicts.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

test('of fifty skills that are listed, and each asked for by name, no file is read', async () => {
  await using au = await HostileServer.start()
  const names = Array.from({ length: 50 }, (_, index) => `skill-${index}`)
  for (const name of names) au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name), 'a.md': name })
  await using mirror = await Mirror.start({ au: of(au) })

  const uris = await mirror.urisListed()
  const got = await Promise.all(uris.map((uri) => mirror.peer.call('skills/get', { uri })))
  await mirror.peer.call('resources/list')
  await mirror.peer.call('tools/call', { name: 'list_skills', arguments: {} })

  expect(new Set(got.map(({ result }) => result.skill.frontmatter.name))).toEqual(new Set(names))
  expect(au.reads()).toEqual([])
})

test('with fetch: all, what may be served is here after a look, once, and what waits is not', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'a' })
  au.skills.set('skill://waits/SKILL.md', { 'SKILL.md': skill('waits') })
  const source = `mcp: "${au.url}", fetch: all`
  await using mirror = await Mirror.start({ au: source })
  const early = au.reads()

  await mirror.approve('au', 'refunds')
  await mirror.pull()
  await mirror.pull()

  expect(early).toEqual([])
  expect(au.reads().toSorted()).toEqual([URI, 'skill://refunds/a.md'].toSorted())
  await au[Symbol.asyncDispose]()
  expect(String(await mirror.bytesOf('skill://au/refunds/a.md'))).toBe('a')
})

test('with fetch: all, a disk that says no is told of, and the look at the server is none the worse for it', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: `${of(au)}, fetch: all` })
  const files = join(mirror.state, 'upstreams/au/files')
  await rm(files, { recursive: true })
  await symlink(files, files)

  const outcomes = await mirror.pull()

  expect(outcomes.map(({ kind }) => kind)).toEqual(['unchanged'])
  expect(mirror.log).toContainEqual(expect.objectContaining({ event: 'content-not-fetched', code: 'store-failed' }))
})

test('what came from a source that is configured no longer is gone at the next start, and nothing else is', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au), left: of(au), moved: of(au) })
  for (const id of ['au', 'left', 'moved']) await mirror.bytesOf(`skill://${id}/refunds/SKILL.md`)
  const before = await readdir(join(mirror.state, 'upstreams'))
  await mirror.stop()
  const reads = au.reads().length

  const folder = `path: "${join(mirror.state, '..')}"`
  await using next = await Mirror.start({ au: of(au), moved: folder }, { state: mirror.state, isPulled: false })
  const after = await readdir(join(mirror.state, 'upstreams'))
  const bytes = await next.bytesOf(SERVED)

  expect([before.toSorted(), after]).toEqual([['au', 'left', 'moved'], ['au']])
  expect(String(bytes)).toBe(skill('refunds'))
  expect(au.reads()).toHaveLength(reads)
  expect(await next.bytesOf('skill://left/refunds/SKILL.md')).toBe(-32_602)
  expect(next.log.filter(({ event }) => event === 'upstream-forgotten').map(({ source }) => source)).toEqual([
    'left',
    'moved',
  ])
})

test('without its server, after a restart, a skill has its origin still; what was read is read again, the rest is an error', async () => {
  const au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'never read' })
  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.bytesOf(SERVED)
  await mirror.stop()
  await au[Symbol.asyncDispose]()

  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })
  const got = await next.peer.call('tools/call', { name: 'get_skill', arguments: { id: 'refunds' } })

  expect(await next.urisListed()).toEqual([SERVED])
  expect(next.source('au').problem?.code).toBe('source-unreachable')
  expect(got.result.structuredContent.content).toContain(`source="mcp-server: au" uri="${URI}"`)
  expect(String(await next.bytesOf(SERVED))).toBe(skill('refunds'))
  expect(await next.bytesOf('skill://au/refunds/a.md')).toBe(-32_603)
})

test.each([
  ['SKILL.md', 'Skill.md'],
  ['\u{E9}.md', 'e\u{301}.md'],
  ['a', 'a/b'],
])('a set with %j and %j is refused, and both are named', async (one, other) => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), [one]: skill('refunds'), [other]: 'other' })
  au.skills.set('skill://good/SKILL.md', { 'SKILL.md': skill('good') })

  await using mirror = await Mirror.start({ au: of(au) })

  const finding = problemsIn(mirror.source('au')).find(({ path }) => path === 'refunds')
  expect(await mirror.urisListed()).toEqual(['skill://au/good/SKILL.md'])
  expect(finding).toMatchObject({ code: 'path-collision', state: 'withheld' })
  expect(finding?.message).toContain(`"${one}"`)
  expect(finding?.message).toContain(`"${other}"`)
})

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}
