import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import type { Answer } from '../../support/hostile/hostile-answer.ts'
import type { Enumeration } from '../../support/hostile/hostile-offer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { problemsIn } from '../../support/verdicts.ts'
import { tarGz } from '../../sync/upstream/archive/hand-made.ts'

const SOON = { config: ['limits: { fetch: { connect_timeout: 1s, total_timeout: 2s } }'] }

interface Case {
  readonly what: string
  readonly how: Answer
  readonly offers: Enumeration
  readonly transport: 'http' | 'stdio'
  readonly why: string
}

const HOWS: readonly Pick<Case, 'what' | 'how' | 'why'>[] = [
  { what: 'never answered', how: 'silence', why: 'within 1000 ms' },
  { what: 'cut', how: 'drop', why: 'came (' },
  { what: 'answered without an end', how: { delayPerByteMs: 400 }, why: 'within 2000 ms' },
]

const CASES: readonly Case[] = HOWS.flatMap((how) => [
  { ...how, offers: 'index-r0', transport: 'http' } as const,
  // The first bytes that a program sends may be of any answer: then the time for all of it counts.
  { ...how, offers: 'index-r1', transport: 'stdio', ...(how.how === 'silence' && { why: 'within ' }) } as const,
])

test.each<Case>([
  ...CASES,
  { what: 'never answered', how: 'silence', offers: 'index-r2', transport: 'http', why: 'within 1000 ms' },
  { what: 'never answered', how: 'silence', offers: 'fastmcp', transport: 'http', why: 'within 1000 ms' },
  { what: 'answered 503', how: { raw: 'busy', status: 503 }, offers: 'index-r1', transport: 'http', why: '503' },
  { what: 'answered 403', how: { raw: 'no', status: 403 }, offers: 'index-r1', transport: 'http', why: '403' },
])(
  'a SKILL.md that is $what costs its skill alone, as $offers over $transport',
  async ({ how, offers, transport, why }) => {
    await using au = await serverOf(['a', 'b', 'c'], offers)
    au.on('resources/read', ({ uri }) => (uri === 'skill://b/SKILL.md' ? how : undefined))

    await using mirror = await Mirror.start({ au: of(au, transport) }, SOON)

    expect(await mirror.urisListed()).toEqual(['skill://au/a/SKILL.md', 'skill://au/c/SKILL.md'])
    expect(mirror.source('au').problem).toBeUndefined()
    const finding = problemsIn(mirror.source('au')).find(({ code }) => code === 'no-answer-for-entry')
    expect(finding).toMatchObject({ path: 'b', message: expect.stringContaining('"skill://b/SKILL.md"') })
    expect(finding?.message).toContain(why)
  },
)

test.each<{ what: string; make: (au: HostileServer) => void; uris?: string; left: readonly string[] }>([
  {
    what: 'manifest',
    make: (au) => {
      au.offers = 'fastmcp'
      au.on('resources/read', ({ uri }) => (uri === 'skill://b/_manifest' ? 'silence' : undefined))
    },
    left: ['a', 'c'],
  },
  {
    what: 'folder',
    make: (au) => {
      au.offers = 'index-r2'
      au.capabilities = { extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } } }
      au.on('resources/directory/read', ({ uri }) => (uri === 'skill://b' ? 'silence' : undefined))
    },
    left: ['a', 'c'],
  },
  {
    what: 'folder, which is answered with an error,',
    make: (au) => {
      au.offers = 'index-r2'
      au.capabilities = { extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } } }
      au.on('resources/directory/read', ({ uri }) => (uri === 'skill://b' ? new RpcFault(-32_603, 'no') : undefined))
    },
    left: ['a', 'c'],
  },
  {
    what: 'entry, named by its URI,',
    make: (au) => {
      au.skills.unlist('skill://b/SKILL.md')
      au.on('skills/get', () => 'silence')
    },
    uris: ', uris: ["skill://b/SKILL.md"]',
    left: ['a', 'c'],
  },
  {
    what: 'entry, named by its URI and answered with an error,',
    make: (au) => {
      au.skills.unlist('skill://b/SKILL.md')
      au.on('skills/get', () => new RpcFault(-32_603, 'no'))
    },
    uris: ', uris: ["skill://b/SKILL.md"]',
    left: ['a', 'c'],
  },
  {
    what: 'archive',
    make: (au) => {
      const entry = (name: string) => ({ type: 'archive', name, url: `skill://${name}.tar.gz`, description: 'd' })
      au.on('resources/read', ({ uri }) => {
        const [, name] = /^skill:\/\/(.)\.tar\.gz$/.exec(uri) ?? []
        if (name === 'b') return 'silence'
        if (uri === 'skill://index.json') return textOf(uri, JSON.stringify({ skills: ['a', 'b', 'c'].map(entry) }))
        const blob = tarGz({ name: 'SKILL.md', content: skill(name ?? '') }).toString('base64')
        return { contents: [{ uri, blob }] }
      })
      au.capabilities = {}
    },
    uris: ', packed: read',
    left: ['a', 'c'],
  },
  {
    what: 'size',
    make: (au) => {
      const unsized = (name: string) => {
        const uri = `skill://${name}/SKILL.md`
        const { resources } = au.skills.entryOf(uri)
        const files = resources.map(({ uri: file, digest }: any) => ({ uri: file, digest }))
        au.skills.set(uri, { 'SKILL.md': skill(name) }, { resources: files })
      }
      for (const name of ['a', 'b', 'c']) unsized(name)
      au.on('resources/list', () => ({ resources: [] }))
      au.on('resources/read', ({ uri }) => (uri === 'skill://b/SKILL.md' ? 'silence' : undefined))
    },
    uris: ', fetch: all',
    left: ['a', 'c'],
  },
])('a $what of one skill for which no answer comes costs that skill alone', async ({ make, uris = '', left }) => {
  await using au = await serverOf(['a', 'b', 'c'], 'skills-list')
  make(au)

  await using mirror = await Mirror.start({ au: `${of(au, 'http')}${uris}` }, SOON)

  expect(await mirror.urisListed()).toEqual(left.map((name) => `skill://au/${name}/SKILL.md`))
  expect(mirror.findings('au')).toContain('no-answer-for-entry b')
})

test('what was served before stays as it was, and a new skill beside it comes', async () => {
  await using au = await serverOf(['a', 'b'], 'index-r0')
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `${of(au, 'http')}, every: 1h` }, { ...SOON, clock })
  for (const name of ['d', 'e']) offer(au, name)
  au.on('resources/read', ({ uri }) => (/skill:\/\/[bd]\//.test(uri) ? 'silence' : undefined))
  await clock.advance(3_600_000)

  await mirror.pull()

  const uris = ['a', 'b', 'e'].map((name) => `skill://au/${name}/SKILL.md`)
  expect(await mirror.urisListed()).toEqual(uris)
  expect(String(await mirror.bytesOf('skill://au/b/SKILL.md'))).toBe(skill('b'))
  const unanswered = mirror.findings('au').filter((finding) => finding.startsWith('no-answer-for-entry'))
  expect(unanswered.toSorted()).toEqual(['no-answer-for-entry b', 'no-answer-for-entry d'])

  au.on('resources/read')
  await clock.advance(3_600_000)
  await mirror.pull()

  expect(await mirror.urisListed()).toHaveLength(4)
  expect(mirror.findings('au').filter((finding) => finding.startsWith('no-answer'))).toEqual([])
})

test('a skill stays as it was with the files that it linked to, while its SKILL.md is not answered and after that', async () => {
  await using au = await serverOf(['a'], 'index-r0')
  au.skills.set('skill://b/SKILL.md', { 'SKILL.md': `${skill('b')}[it](r.md)\n` })
  au.skills.setResource('skill://b/r.md', 'r')
  au.on('resources/list', () => ({ resources: [] }))
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `${of(au, 'http')}, every: 1h` }, { ...SOON, clock })
  const filesOf = async () => (await mirror.listed()).flatMap(({ resources }) => resources.map(({ uri }: any) => uri))
  const before = await filesOf()
  au.on('resources/read', ({ uri }) => (uri === 'skill://b/SKILL.md' ? 'silence' : undefined))
  await clock.advance(3_600_000)
  await mirror.pull()
  const during = await filesOf()
  au.on('resources/read', ({ uri }) => (uri === 'skill://b/r.md' ? 'silence' : undefined))
  await clock.advance(3_600_000)

  await mirror.pull()

  expect(before).toContain('skill://au/b/r.md')
  expect([during, await filesOf()]).toEqual([before, before])
})

test('many files that are never answered are waited for together, and those behind them are asked for', async () => {
  const silent = Array.from({ length: 12 }, (_, at) => `b${at}`)
  await using au = await serverOf(['a', ...silent, 'z'], 'index-r2')
  au.on('resources/read', ({ uri }) => (uri.startsWith('skill://b') ? 'silence' : undefined))

  await using mirror = await Mirror.start({ au: of(au, 'http') }, SOON)

  expect(await mirror.urisListed()).toEqual(['skill://au/a/SKILL.md', 'skill://au/z/SKILL.md'])
  expect(mirror.findings('au').filter((finding) => finding.startsWith('no-answer'))).toHaveLength(12)
}, 30_000)

test('after 64 requests without an answer the rest is not asked for, and the findings say so', async () => {
  const silent = Array.from({ length: 70 }, (_, at) => `b${at}`)
  await using au = await serverOf(silent, 'index-r2')
  au.on('resources/read', ({ uri }) => (uri.startsWith('skill://b') ? { raw: '', status: 503 } : undefined))

  await using mirror = await Mirror.start({ au: of(au, 'http') }, SOON)

  expect(au.reads().filter((uri) => uri.startsWith('skill://b'))).toHaveLength(64)
  const told = problemsIn(mirror.source('au')).map(({ message }) => message)
  expect(told.join('\n')).toContain('more skills of the server have no entry')
})

test('a linked file that is never answered costs no linked file of a later skill', async () => {
  await using au = await serverOf([], 'index-r0')
  for (const name of ['a', 'b', 'c']) {
    au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': `${skill(name)}[it](r.md) [two](s.md)\n` })
    for (const file of ['r.md', 's.md']) au.skills.setResource(`skill://${name}/${file}`, file)
  }
  au.on('resources/list', () => ({ resources: [] }))
  au.on('resources/read', ({ uri }) => (uri === 'skill://a/r.md' ? 'silence' : undefined))

  await using mirror = await Mirror.start({ au: of(au, 'http') }, SOON)

  const files = (await mirror.listed()).map(({ resources }) => resources.length)
  expect(files).toEqual([1, 3, 3])
  const finding = problemsIn(mirror.source('au')).find(({ code }) => code === 'no-answer-for-entry')
  expect(finding?.message).toContain('"skill://a/r.md"')
})

test('a server that is gone in the middle of a listing fails whole, and what was served stays', async () => {
  await using au = await serverOf(['a', 'b'], 'index-r0')
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `${of(au, 'http')}, every: 1h` }, { ...SOON, clock })
  au.on('resources/read', ({ uri }) => (uri.endsWith('SKILL.md') ? { raw: '', status: 429 } : undefined))
  await clock.advance(3_600_000)

  const [outcome] = await mirror.pull()

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'rate-limited' } })
  expect(await mirror.urisListed()).toHaveLength(2)
})

async function serverOf(names: readonly string[], offers: Enumeration): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = offers
  for (const name of names) offer(au, name)
  return au
}

function offer(au: HostileServer, name: string): void {
  au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name) })
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nText\n`
}

function textOf(uri: string, text: string): object {
  return { contents: [{ uri, text }] }
}

function of(au: HostileServer, transport: 'http' | 'stdio'): string {
  return `mcp: ${transport === 'http' ? `"${au.url}"` : JSON.stringify(au.program())}, approval: none`
}
