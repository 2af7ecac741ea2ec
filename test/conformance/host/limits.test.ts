import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { digestOf } from '../../support/hostile/hostile-skills.ts'
import { Mirror } from '../../support/mirror.ts'
import { problemsIn } from '../../support/verdicts.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'
const MIB = 2 ** 20

test('skills at the limits are usable, and of those above them no file is asked for', async () => {
  await using au = await HostileServer.start()
  const named = (name: string, files: Readonly<Record<string, string | Uint8Array>>): void =>
    au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name), ...files })
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count - 1 }, (_, at) => [`${at}.md`, `${at}`]))
  named('many', many(512))
  named('too-many', many(513))
  // Bytes that are no text come as base64, which is the larger of the two forms.
  named('large', { 'x.bin': new Uint8Array(16 * MIB - skill('large').length).fill(0xff) })
  named('too-large', { 'x.bin': new Uint8Array(16 * MIB - skill('too-large').length + 1).fill(0xff) })
  await using mirror = await Mirror.start({ au: of(au) })

  const last = await mirror.bytesOf('skill://au/many/510.md')
  const large = await mirror.bytesOf('skill://au/large/x.bin')
  const refused = [await mirror.bytesOf('skill://au/too-many/0.md'), await mirror.bytesOf('skill://au/too-large/x.bin')]

  expect(await mirror.urisListed()).toEqual(['skill://au/large/SKILL.md', 'skill://au/many/SKILL.md'])
  expect(String(last)).toBe('510')
  expect(sizeOf(large)).toBe(16 * MIB - skill('large').length)
  expect(refused).toEqual([-32_602, -32_602])
  expect(mirror.findings('au').toSorted()).toEqual(['limit-bytes too-large', 'limit-files too-many'])
  expect(au.reads()).toEqual(['skill://many/510.md', 'skill://large/x.bin'])
})

test.each([
  ['no entries', 'listing_pages', 1000, () => []],
  [
    'a hundred entries',
    'listing_entries',
    501,
    (page: number) => Array.from({ length: 100 }, (_, at) => ({ page, at })),
  ],
  ['an entry of 1 MiB', 'listing_bytes', 64, (page: number) => [{ uri: `${page}`, x: 'x'.repeat(MIB) }]],
] as const)(
  'an endless chain of fresh cursors with %s on each page ends at %s, and what was served before stays',
  async (_, key, pages, entriesOf) => {
    await using au = await HostileServer.start()
    au.skills.set(URI, { 'SKILL.md': skill('refunds') })
    await using mirror = await Mirror.start({ au: of(au) })
    await mirror.bytesOf(SERVED)
    const [before, usedBefore] = [au.of('skills/list').length, usedBytes()]
    const used: number[] = []
    au.listEndlessly('fresh', (page) => {
      if (page % Math.ceil(pages / 10) === 0) used.push(usedBytes() - usedBefore)
      return entriesOf(page)
    })

    await mirror.pull()

    expect(mirror.source('au').problem).toMatchObject({
      code: 'limit-exceeded',
      message: expect.stringContaining(`budgets.${key}`),
    })
    expect(au.of('skills/list').length - before).toBeGreaterThanOrEqual(pages)
    expect(au.of('skills/list').length - before).toBeLessThanOrEqual(pages + 1)
    expect(used.length).toBeGreaterThan(5)
    expect(Math.max(...used)).toBeLessThan(100 * MIB)
    expect(await mirror.urisListed()).toEqual([SERVED])
  },
  60_000,
)

test('a cursor that is repeated ends the listing at once', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds') })
  au.listEndlessly('repeated')

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.source('au').problem).toMatchObject({
    code: 'content-refused',
    message: expect.stringContaining('repeats a cursor'),
  })
  expect(au.of('skills/list').map(({ params }) => params.cursor)).toEqual([undefined, '1'])
  expect(await mirror.urisListed()).toEqual([])
})

test.each(['json', 'events', 'stdio'] as const)(
  'a page whose text is short and whose objects would fill the memory is refused before it is parsed, as %s',
  async (form) => {
    await using au = await HostileServer.start()
    if (form === 'events') au.answersAs = 'events'
    const skills = `[${'{},'.repeat(1_000_000)}{}]`
    au.on('skills/list', (_, { id }) => ({ raw: `{"jsonrpc":"2.0","id":${id},"result":{"skills":${skills}}}` }))
    const place = form === 'stdio' ? JSON.stringify(au.program()) : `"${au.url}"`

    await using mirror = await Mirror.start({ au: `mcp: ${place}, approval: none` })

    expect(mirror.source('au').problem).toMatchObject({
      code: 'limit-exceeded',
      message: expect.stringContaining('an answer is over'),
    })
  },
)

test('a skill of 3 files of 9 MiB is refused by the limit of a skill, with the figures, and nothing of it is asked for', async () => {
  await using au = await HostileServer.start()
  au.skills.addEntry(declared('huge', { a: 'a', b: 'b', c: 'c' }, 9 * MIB))

  await using mirror = await Mirror.start({ au: of(au) })

  const size = 3 * 9 * MIB + skill('huge').length
  expect(problemsIn(mirror.source('au'))).toMatchObject([
    { code: 'limit-bytes', message: expect.stringContaining(`${size} bytes, over the limit of ${16 * MIB}`) },
  ])
  expect(await mirror.bytesOf('skill://au/huge/a')).toBe(-32_602)
  expect(au.reads()).toEqual([])
})

test('of 30 skills of 10 MiB those are fetched that 200 MiB in an hour have room for, and the rest is told of', async () => {
  await using au = await HostileServer.start()
  const names = Array.from({ length: 30 }, (_, at) => `s${at}`)
  for (const [at, name] of names.entries()) au.skills.addEntry(declared(name, { x: letter(at) }, 10 * MIB))
  au.on('resources/read', ({ uri }) => {
    const at = Number(/s(\d+)\/x$/.exec(uri)?.[1])
    return { contents: [{ uri, text: letter(at).repeat(10 * MIB) }] }
  })
  await using mirror = await Mirror.start({ au: of(au) })

  const got = []
  for (const name of names) got.push(sizeOf(await mirror.bytesOf(`skill://au/${name}/x`)))

  expect(got).toEqual([...Array(20).fill(10 * MIB), ...Array(10).fill(-32_603)])
  expect(au.reads()).toHaveLength(20)
  expect(mirror.source('au').fetched).toEqual({ bytes: 200 * MIB, most: 200 * MIB })
  expect(mirror.log).toContainEqual(
    expect.objectContaining({
      event: 'content-not-fetched',
      code: 'limit-exceeded',
      message: expect.stringContaining(`${200 * MIB} of budgets.hourly_bytes (${200 * MIB})`),
    }),
  )
})

test.each(['json', 'stdio'] as const)(
  'what a client asks for and comes larger than declared is billed by what came, as %s',
  async (form) => {
    await using au = await HostileServer.start()
    // Two skills: nothing more is asked for of one whose file was larger than declared.
    au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'a.md': 'a' })
    au.skills.set('skill://flood/SKILL.md', { 'SKILL.md': skill('flood'), 'b.md': 'b' })
    const sizes = new Map([
      ['skill://refunds/a.md', MIB],
      ['skill://flood/b.md', 25 * MIB],
    ])
    au.on('resources/read', ({ uri }) => {
      const size = sizes.get(uri)
      return size === undefined ? undefined : { contents: [{ uri, text: 'x'.repeat(size) }] }
    })
    const place = form === 'stdio' ? JSON.stringify(au.program()) : `"${au.url}"`
    await using mirror = await Mirror.start({ au: `mcp: ${place}, approval: none` })

    const flood = await mirror.bytesOf('skill://au/flood/b.md')
    const afterFlood = mirror.source('au').fetched?.bytes
    const larger = await mirror.bytesOf('skill://au/refunds/a.md')
    const afterBoth = mirror.source('au').fetched?.bytes

    expect([flood, larger]).toEqual([-32_603, -32_603])
    expect(afterFlood).toBeGreaterThan(24 * MIB)
    expect(afterFlood).toBeLessThan(26 * MIB)
    expect(afterBoth).toBe((afterFlood ?? 0) + MIB)
  },
)

test('a read that comes byte by byte ends at the time a request has, and no other read waits for it', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), 'slow.md': 'slow' })
  au.on('resources/read', ({ uri }) => (uri.endsWith('slow.md') ? { delayPerByteMs: 1000 } : undefined))
  const config = ['limits: { fetch: { total_timeout: 5s } }']
  await using mirror = await Mirror.start({ au: of(au) }, { config })
  const order: string[] = []

  const slow = mirror.bytesOf('skill://au/refunds/slow.md').finally(() => order.push('slow'))
  await au.requested(({ params }) => params.uri?.endsWith('slow.md'))
  const other = await mirror.bytesOf(SERVED).finally(() => order.push('other'))

  expect(String(other)).toBe(skill('refunds'))
  expect(await slow).toBe(-32_603)
  expect(order).toEqual(['other', 'slow'])
  expect(mirror.log).toContainEqual(
    expect.objectContaining({
      event: 'content-not-fetched',
      code: 'source-unreachable',
      message: expect.stringContaining('within 5000 ms'),
    }),
  )
})

test.each(['text', 'blob'])('a file of 12 MiB comes over stdio as a %s', async (form) => {
  await using au = await HostileServer.start()
  const bytes = Buffer.alloc(12 * MIB, form === 'text' ? 0x61 : 0xff)
  au.skills.set(URI, { 'SKILL.md': skill('refunds'), x: bytes })
  await using mirror = await Mirror.start({ au: `mcp: ${JSON.stringify(au.program())}, approval: none` })

  const got = await mirror.bytesOf('skill://au/refunds/x')

  expect(typeof got === 'number' ? got : bytes.equals(got)).toBe(true)
  expect(au.reads()).toEqual(['skill://refunds/x'])
})

/** The entry of a skill whose files are each one letter over and over. */
function declared(name: string, files: Readonly<Record<string, string>>, size: number): object {
  const root = `skill://${name}`
  const document = Buffer.from(skill(name))
  const resources = Object.entries(files).map(([path, one]) => {
    return { uri: `${root}/${path}`, digest: digestOf(Buffer.alloc(size, one)), size }
  })
  return {
    uri: `${root}/SKILL.md`,
    frontmatter: { name, description: 'd' },
    resources: [{ uri: `${root}/SKILL.md`, digest: digestOf(document), size: document.length }, ...resources],
  }
}

/** Of a read, or the code of its error: bytes by the million are nothing to print. */
function sizeOf(got: Buffer | number): number {
  return typeof got === 'number' ? got : got.length
}

function letter(at: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + at)
}

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** What is in use once what is no longer wanted is gone. */
function usedBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}
