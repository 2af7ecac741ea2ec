import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import type { Enumeration } from '../../support/hostile/hostile-offer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'

const SOON = { config: ['limits: { fetch: { connect_timeout: 3s, total_timeout: 6s } }'] }

interface Case {
  readonly method: string
  /** What of the method is not answered. */
  readonly what: string
  readonly offers: Enumeration
  readonly isAsked: (params: any) => boolean
  /** Changes what the server says, so that the client asks the method. */
  readonly make?: (au: HostileServer) => void
}

const LISTS: readonly Case[] = [
  {
    method: 'skills/list',
    what: 'the first page',
    offers: 'skills-list',
    isAsked: ({ cursor }) => cursor === undefined,
  },
  {
    method: 'skills/list',
    what: 'the second page',
    offers: 'skills-list',
    isAsked: ({ cursor }) => cursor !== undefined,
  },
  {
    method: 'resources/read',
    what: 'the index',
    offers: 'index-r2',
    isAsked: ({ uri }) => uri === 'skill://index.json',
  },
  {
    method: 'resources/list',
    what: 'the first page',
    offers: 'fastmcp',
    isAsked: ({ cursor }) => cursor === undefined,
  },
  {
    method: 'resources/list',
    what: 'the second page',
    offers: 'fastmcp',
    isAsked: ({ cursor }) => cursor !== undefined,
  },
  {
    method: 'resources/list',
    what: 'the list of sizes',
    offers: 'skills-list',
    isAsked: () => true,
    make: withoutSizes,
  },
  { method: 'resources/list', what: 'the list of files', offers: 'index-r1', isAsked: () => true },
]

const CASES = [
  ...LISTS.map((list) => Object.assign({ how: 'never answered', answer: 'silence', transport: 'http' } as const, list)),
  ...LISTS.filter(({ what }) => what === 'the first page').map((list) =>
    Object.assign(
      { how: 'answered without an end', answer: { delayPerByteMs: 400 }, transport: 'stdio' } as const,
      list,
    ),
  ),
]

test.each(CASES)(
  '$what of $method that is $how over $transport fails the source, which names the method, and costs nothing that is served',
  async ({ method, offers, isAsked, make, answer, transport }) => {
    await using au = await serverOf(['a', 'b'], offers)
    await using good = await serverOf(['a'], 'skills-list')
    make?.(au)
    const clock = new FakeClock()
    const sources = { au: `${of(au, transport)}, every: 1h`, good: `${of(good, 'http')}, every: 1h` }
    await using mirror = await Mirror.start(sources, { ...SOON, clock })
    const before = await mirror.urisListed()
    for (const server of [au, good]) offer(server, 'new')
    au.on(method, (params) => (isAsked(params) ? answer : undefined))
    await clock.advance(3_600_000)

    await mirror.pull()

    const { problem } = mirror.source('au')
    expect(before).toEqual(['skill://au/a/SKILL.md', 'skill://au/b/SKILL.md', 'skill://good/a/SKILL.md'])
    expect(await mirror.urisListed()).toEqual([...before, 'skill://good/new/SKILL.md'])
    expect(problem).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining(`"${method}"`) })
    expect(problem?.message).toMatch(/within [36]000 ms$/)
  },
)

async function serverOf(names: readonly string[], offers: Enumeration): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = offers
  au.pageSize = 1
  for (const name of names) offer(au, name)
  return au
}

function offer(au: HostileServer, name: string): void {
  au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': `---\nname: ${name}\ndescription: A skill\n---\n` })
}

/** Leaves the sizes out of the entries, as earlier drafts do. */
function withoutSizes(au: HostileServer): void {
  for (const name of ['a', 'b']) {
    const uri = `skill://${name}/SKILL.md`
    const resources = au.skills.entryOf(uri).resources.map(({ uri: file, digest }: any) => ({ uri: file, digest }))
    au.skills.set(uri, { 'SKILL.md': `---\nname: ${name}\ndescription: A skill\n---\n` }, { resources })
  }
}

function of(au: HostileServer, transport: 'http' | 'stdio'): string {
  return `mcp: ${transport === 'http' ? `"${au.url}"` : JSON.stringify(au.program())}, approval: none`
}
