import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { Discovery } from '../../../../src/serve/page/http/discovery.ts'
import { WellKnownEndpoint } from '../../../../src/serve/page/http/well-known-endpoint.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import { buildFixture } from '../../../support/content/fixture.ts'
import type { Fixture } from '../../../support/content/fixture.ts'
import { damageObject } from '../../../support/damage.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { ask } from '../../http/ask.ts'

const ENTRY = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
    .max(64),
  type: z.enum(['skill-md', 'archive']),
  description: z.string().min(1).max(1024),
  url: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  version: z.string(),
  uri: z.string().optional(),
  source: z.string(),
  files: z.array(z.string()),
  resources: z.array(z.object({ path: z.string(), url: z.string(), digest: z.string(), size: z.number() })),
})
const INDEX = z.object({
  $schema: z.literal('https://schemas.agentskills.io/discovery/0.2.0/schema.json'),
  skills: z.array(ENTRY),
})
const FOLDER = '/.well-known/agent-skills/'

const document = (name: string): string => `---\nname: ${name}\ndescription: ${name} of the tests\n---\n`

let fixture: Fixture
let repository: Repository
let served: Served
beforeAll(async () => {
  fixture = await buildFixture()
  repository = await Repository.create()
  await repository.commit({
    'page/SKILL.md': document('page'),
    'page/page.html': '<script>alert(1)</script>',
    'page/image.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    'page/a b%20c#1.txt': 'odd',
    'secret/SKILL.md': document('secret'),
  })
  served = await serve(fixture.repository, { source: ['root: skills'], more: { other: repository } })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** The skills of the fixture that are for tools alone and can be called after their folders. */
const BY_FOLDER = ['description-too-long', 'padded']

test('every listed skill can be installed, and all bytes have the digest and size that the index announces', async () => {
  const { skills } = await indexOf(served)

  const listed = served.daemon.registry.catalog.listed
  const [inLists, byFolder] = [true, false].map((is) => skills.filter(({ uri }) => (uri !== undefined) === is))
  expect(inLists?.map(({ uri }) => uri).toSorted()).toEqual(listed.map(({ uri }) => uri).toSorted())
  expect(byFolder?.map(({ name }) => name)).toEqual(BY_FOLDER)
  expect(new Set(skills.map(({ name }) => name)).size).toBe(skills.length)
  for (const { url, digest, resources } of skills) {
    expect(digestOf((await ask(served.http.url, url)).bytes), url).toBe(digest)
    for (const file of resources) {
      const { status, bytes } = await ask(served.http.url, file.url)
      expect({ status, digest: digestOf(bytes), size: bytes.length }, file.url).toEqual({
        status: 200,
        digest: file.digest,
        size: file.size,
      })
    }
  }
})

test('a skill of one file is announced as that file, and one of several as an archive', async () => {
  const { skills } = await indexOf(served)

  for (const { type, files, url, name } of skills) {
    expect(type).toBe(files.length === 1 ? 'skill-md' : 'archive')
    expect(url).toBe(`${FOLDER}${files.length === 1 ? `${name}/SKILL.md` : `${name}.zip`}`)
  }
})

test('no answer is one that a browser runs', async () => {
  for (const path of ['page/page.html', 'page/image.svg', 'page/SKILL.md', 'page.zip', 'index.json']) {
    const { status, headers } = await ask(served.http.url, `${FOLDER}${path}`)

    expect(status, path).toBe(200)
    expect(headers['content-type'], path).toMatch(/^(?:text\/plain|text\/markdown|application\/(?:zip|json))/)
    expect(headers, path).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': 'attachment',
    })
  }
})

test('what is known already is answered with 304 and no body, until it changes', async () => {
  const first = await ask(served.http.url, `${FOLDER}page/SKILL.md`)
  const etag = first.headers.etag!

  const same = await ask(served.http.url, `${FOLDER}page/SKILL.md`, { headers: { 'if-none-match': `"x", W/${etag}` } })
  const another = await ask(served.http.url, `${FOLDER}page/SKILL.md`, { headers: { 'if-none-match': '"x"' } })

  expect(etag).toBe(`"${digestOf(first.bytes)}"`)
  expect(same).toMatchObject({ status: 304, text: '' })
  expect(same.headers).toMatchObject({ etag, 'cache-control': 'no-cache' })
  expect(another.status).toBe(200)
})

test('HEAD has the headers of GET and no body', async () => {
  for (const path of ['index.json', 'page.zip', 'page/page.html']) {
    const get = await ask(served.http.url, `${FOLDER}${path}`)
    const head = await ask(served.http.url, `${FOLDER}${path}`, { method: 'HEAD' })

    expect(head.text).toBe('')
    const { date: _, ...headers } = head.headers
    expect(get.headers).toMatchObject(headers)
    expect(head.headers['content-length']).toBe(String(get.bytes.length))
  }
})

test('a method that would change something is refused with 405', async () => {
  const { status, headers } = await ask(served.http.url, `${FOLDER}index.json`, { method: 'POST', body: '{}' })

  expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD' })
})

test.each([
  '',
  'page',
  'page/',
  'page/SKILL.md/',
  'page//SKILL.md',
  'page/../secret/SKILL.md',
  'page/%2e%2e/secret/SKILL.md',
  '../../mcp',
  'page%2FSKILL.md',
  'page/SKILL.md%00',
  'page/skill.md',
  'Page/SKILL.md',
  'page/%E0%A4%A',
  'page\\SKILL.md',
  'constructor/SKILL.md',
  '__proto__',
  'page.zip/SKILL.md',
  '/page/SKILL.md',
  '/etc/passwd',
])('a path that is not that of a listed file leads nowhere: %j', async (path) => {
  const { status } = await ask(served.http.url, `${FOLDER}${path}`)

  expect(status).toBe(404)
})

test('a query changes nothing', async () => {
  expect((await ask(served.http.url, `${FOLDER}page/SKILL.md?x=../secret`)).text).toBe(document('page'))
})

test('clients of 0.1.0 that are sent here find the files that they look for, at the paths that they make', async () => {
  const { skills } = await indexOf(served)

  const page = skills.find(({ name }) => name === 'page')!
  expect(page.files).toEqual(['SKILL.md', 'a b%20c#1.txt', 'image.svg', 'page.html'])
  expect((await ask(served.http.url, `${FOLDER}page/page.html`)).text).toBe('<script>alert(1)</script>')
})

test('a skill in no list is neither announced nor answered for, though its URI is', async () => {
  await using hidden = await serve(repository, { source: ["unlisted: ['secret']"] })

  const { skills } = await indexOf(hidden)
  const { status } = await ask(hidden.http.url, `${FOLDER}secret/SKILL.md`)

  expect(hidden.daemon.registry.catalog.skills.has('skill://fx/secret/SKILL.md')).toBe(true)
  expect(skills.map(({ name }) => name)).toEqual(['page'])
  expect(status).toBe(404)
})

test('a new commit is announced at once', async () => {
  await using changing = await Repository.create()
  await changing.commit({ 'one/SKILL.md': document('one') })
  await using hub = await serve(changing)
  const before = await indexOf(hub)

  await changing.commit({ 'one/SKILL.md': `${document('one')}more\n` })
  await hub.sync()

  const after = await indexOf(hub)
  expect(after.skills[0]!.digest).not.toBe(before.skills[0]!.digest)
  expect(digestOf((await ask(hub.http.url, after.skills[0]!.url)).bytes)).toBe(after.skills[0]!.digest)
})

test('a damaged file is never answered, and its skill hides no neighbour', async () => {
  await using damaged = await Repository.create()
  await damaged.commit({ 'a/SKILL.md': document('a'), 'a/x.txt': 'healthy', 'b/SKILL.md': document('b') })
  await using hub = await serve(damaged)
  const { sha256 } = hub.daemon.registry.catalog.files.values().find(({ file }) => file.path === 'x.txt')!.file
  damageObject(hub.config.state, sha256)

  const { skills } = await indexOf(hub)
  const answers = await Promise.all(['a/x.txt', 'a.zip'].map((path) => ask(hub.http.url, `${FOLDER}${path}`)))

  expect(skills.map(({ name }) => name)).toEqual(['b'])
  for (const { status, text } of answers) {
    expect(status).toBe(500)
    expect(text).not.toContain('damaged\n')
    expect(text).not.toContain('healthy')
  }
})

test('a file or an archive that cannot be read at this moment is answered with 503, and when to ask again', async () => {
  const pdf = sample('pdf', { 'SKILL.md': 'pdf\n', 'x.txt': 'x\n' })
  const registry = new Registry()
  const generation = { number: 1, createdAt: '', sources: [{ source: sourceId('team'), snapshot: '1' }] }
  registry.publish(buildCatalog(generation, [{ ...snapshotOf(pdf), source: sourceId('team') }]))
  const read = async (): Promise<'not-now'> => 'not-now'
  const endpoint = new WellKnownEndpoint(new Discovery({ registry, read, now: () => 0 }, FOLDER), read)
  await using server = createServer((request, response) => {
    void endpoint.answer((request.url ?? '').slice(FOLDER.length), request, response, undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')

  const answers = await Promise.all(
    ['pdf/SKILL.md', 'pdf.zip'].map((path) => ask(`http://127.0.0.1:${portOf(server)}`, `${FOLDER}${path}`)),
  )

  for (const { status, headers, text } of answers) {
    expect(status).toBe(503)
    expect(headers['retry-after']).toBe('1')
    expect(text).toContain('cannot be read at this moment')
  }
})

test('-well-known in serve.forms takes all of it away', async () => {
  await using closed = await serve(repository, { config: ['serve:', '  forms: [default, -well-known]'] })

  for (const path of [`${FOLDER}index.json`, `${FOLDER}page/SKILL.md`]) {
    expect((await ask(closed.http.url, path)).status, path).toBe(404)
  }
})

async function indexOf({ http }: Served): Promise<z.output<typeof INDEX>> {
  const { status, headers, text } = await ask(http.url, `${FOLDER}index.json`)
  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' })
  return INDEX.parse(JSON.parse(text))
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
