import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { legacyHttp } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { problemsIn } from '../../support/verdicts.ts'

const GOOD = 'skill://good/SKILL.md'

test.each(['file://', 'file:', 'FILE://', 'File:', 'skill://../../../..', 'skill://%2e%2e/%2e%2e', 'github://..'])(
  'no file of this disk is opened for an entry that begins with %s',
  async (start) => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'x/SKILL.md')
    await mkdir(join(folder.path, 'x'))
    execFileSync('mkfifo', [path])
    await using pipe = new Pipe(path)
    await using au = await serving([
      `${start}${path}`,
      start === 'file:' ? `file:${path.slice(1)}` : `${start}/${path}`,
    ])

    await using mirror = await Mirror.start({ au: of(au) })
    await mirror.bytesOf(`${start}${path}`)
    await mirror.bytesOf(`skill://au${path}`)

    expect(await mirror.urisListed()).toEqual(['skill://au/good/SKILL.md'])
    expect(mirror.findings('au')).toEqual(['entry-refused', 'entry-refused'])
    expect(pipe.isOpened).toBe(false)
    expect(au.reads()).toEqual([])
  },
)

test('the pipe of these tests tells of whoever opens it', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'pipe')
  execFileSync('mkfifo', [path])
  await using pipe = new Pipe(path)

  await using _reader = await open(path, 'r')
  await pipe.opened

  expect(pipe.isOpened).toBe(true)
})

test('nobody connects to where an entry of another protocol leads', async () => {
  await using other = await HostileServer.start()
  const { host } = new URL(other.url)
  const uris = [
    ...['http', 'https', 'HTTP', 'ws', 'wss', 'ftp'].map((scheme) => `${scheme}://${host}/x/SKILL.md`),
    'data:text/markdown,---%0Aname:%20x%0A---/SKILL.md',
    'data://x/SKILL.md',
    'javascript://x/SKILL.md',
  ]
  await using au = await serving(uris)

  await using mirror = await Mirror.start({ au: of(au) })
  const got = await Promise.all(uris.map((uri) => mirror.bytesOf(uri)))

  expect(await mirror.urisListed()).toEqual(['skill://au/good/SKILL.md'])
  expect(mirror.findings('au')).toEqual(uris.map(() => 'entry-refused'))
  expect(got).toEqual(uris.map(() => -32_602))
  expect(other.connections).toBe(0)
  expect(au.reads()).toEqual([])
})

test.each([
  ['no path', 'skill://SKILL.md'],
  ['no path', 'skill:///SKILL.md'],
  ['no path', 'skill:/x/SKILL.md'],
  ['no canonical URI', 'skill://x/../y/SKILL.md'],
  ['no canonical URI', 'skill://x/./SKILL.md'],
  ['no canonical URI', 'skill://x/%2e%2e/y/SKILL.md'],
  ['no canonical URI', 'skill://x/%2E./SKILL.md'],
  ['no canonical URI', 'skill://x%2Fy/SKILL.md'],
  ['no canonical URI', 'skill://x%5cy/SKILL.md'],
  ['no canonical URI', 'skill://x\\y/SKILL.md'],
  ['no canonical URI', 'skill://x/SKILL.md?y'],
  ['no canonical URI', 'skill://x/SKILL.md#y'],
  ['no canonical URI', 'skill://x//SKILL.md'],
  ['no canonical URI', 'skill://x/y%00/SKILL.md'],
  ['no canonical URI', 'skill://x\n/SKILL.md'],
])('%s: an entry of %j is refused, and said to be', async (_, uri) => {
  await using au = await serving([uri])

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual(['skill://au/good/SKILL.md'])
  expect(problemsIn(mirror.source('au'))).toMatchObject([
    { code: 'entry-refused', message: expect.stringContaining(JSON.stringify(uri)) },
  ])
  expect(au.reads()).toEqual([])
})

test('a skill of a scheme of its own is served under its name, and its bytes verify', async () => {
  await using au = await HostileServer.start()
  const uri = 'github://o/r/skills/refunds/SKILL.md'
  au.skills.set(uri, { 'SKILL.md': skill('refunds'), 'a b.md': 'a space' })
  await using mirror = await Mirror.start({ au: of(au) })

  const [served, ...more] = await mirror.urisListed()
  const document = await mirror.bytesOf(served ?? '')
  const beside = await mirror.bytesOf((served ?? '').replace('SKILL.md', 'a%20b.md'))

  expect(more).toEqual([])
  expect(served).toMatch(/\/refunds\/SKILL\.md$/)
  expect([document, beside].map(String)).toEqual([skill('refunds'), 'a space'])
  expect(au.reads()).toEqual([uri, 'github://o/r/skills/refunds/a%20b.md'])
  expect(mirror.findings('au')).toEqual([])
})

test('nobody is asked for a URI that is another server’s own', async () => {
  await using au = await serving([])
  await using other = await HostileServer.start()
  other.skills.set('github://o/r/refunds/SKILL.md', { 'SKILL.md': skill('refunds') })
  await using mirror = await Mirror.start({ au: of(au), other: of(other) })
  await using older = await legacyHttp(mirror.url)
  const uris = [GOOD, 'github://o/r/refunds/SKILL.md', 'skill://au/github://o/r/refunds/SKILL.md']
  const asked = [au.requests.length, other.requests.length]

  const answers = []
  for (const peer of [mirror.peer, older])
    for (const uri of uris)
      answers.push([await peer.call('resources/read', { uri }), await peer.call('skills/get', { uri })])

  const codes = answers.map((pair) => pair.map(({ error }) => error?.code))
  expect(codes.slice(0, uris.length)).toEqual(uris.map(() => [-32_602, -32_602]))
  expect(codes.slice(uris.length)).toEqual(uris.map(() => [-32_002, -32_602]))
  expect([au.requests.length, other.requests.length]).toEqual(asked)
})

/** The writing end of a named pipe, which opens when somebody opens it to read. */
class Pipe implements AsyncDisposable {
  readonly opened: Promise<void>
  readonly #path: string
  #isOpened = false

  constructor(path: string) {
    this.#path = path
    this.opened = this.#open()
  }

  get isOpened(): boolean {
    return this.#isOpened
  }

  async #open(): Promise<void> {
    await using _writer = await open(this.#path, 'w')
    this.#isOpened = true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A reader that waits for nobody lets the writer go.
    await using _reader = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK)
    await this.opened
  }
}

/** A server with one good skill, and with entries of these URIs that are good but for that. */
async function serving(uris: readonly string[]): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.skills.set(GOOD, { 'SKILL.md': skill('good') })
  const { frontmatter, resources } = au.skills.entryOf(GOOD)
  for (const uri of uris) {
    const name = uri.split('/').at(-2) ?? ''
    au.skills.addEntry({ uri, frontmatter: { ...frontmatter, name }, resources: [{ ...resources[0], uri }] })
  }
  return au
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}
