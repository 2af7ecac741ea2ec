import { createHash } from 'node:crypto'
import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import type { Enumeration } from '../../support/hostile/hostile-offer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { pathsIn, problemsIn } from '../../support/verdicts.ts'
import { pax, tar, TAR_END, tarGz, tarMember, zip } from '../../sync/upstream/archive/hand-made.ts'
import type { TarMember, ZipMember } from '../../sync/upstream/archive/hand-made.ts'

const INDEX = 'skill://index.json'
const TAR = 'skill://acme/refunds.tar.gz'
const ZIP = 'skill://acme/refunds.zip'
const SERVED = 'skill://au/acme/refunds/SKILL.md'
const FILE = 'skill://au/acme/refunds/sub/a b.md'.replace(' ', '%20')

const FILES = { 'SKILL.md': skill('refunds'), 'sub/a b.md': 'packed' }

test.each<{ offers: Enumeration; form: Form; isDigested: boolean }>([
  { offers: 'index-r0', form: 'tar.gz', isDigested: false },
  { offers: 'index-r1', form: 'zip', isDigested: true },
  { offers: 'index-r2', form: 'tar.gz', isDigested: true },
  { offers: 'index-r2', form: 'zip', isDigested: true },
])('a skill that an $offers has as $form alone is served out of the archive', async ({ offers, form, isDigested }) => {
  await using au = await HostileServer.start()
  const url = offer(au, offers, `skill://acme/refunds.${form}`, packedIn(form, FILES))

  await using mirror = await Mirror.start({ au: of(au) })

  const [entry, ...others] = await mirror.listed()
  expect(others).toEqual([])
  expect(entry).toMatchObject({ uri: SERVED, frontmatter: { name: 'refunds', description: 'd' } })
  expect(entry.resources).toEqual([promise(SERVED, FILES['SKILL.md']), promise(FILE, 'packed')])
  expect(String(await mirror.bytesOf(SERVED))).toBe(FILES['SKILL.md'])
  expect(String(await mirror.bytesOf(FILE))).toBe('packed')
  expect(mirror.findings('au')).toEqual(isDigested ? [] : ['not-verifiable acme/refunds'])
  expect(au.reads()).toEqual([INDEX, url])
})

test('adv-live-read-divergence: what the server has at the URI of a packed file is never asked for', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r2', TAR, packedIn('tar.gz', FILES))
  au.skills.setResource('skill://acme/refunds/SKILL.md', skill('refunds', 'live'))
  au.skills.setResource('skill://acme/refunds/sub/a%20b.md', 'live')

  await using mirror = await Mirror.start({ au: of(au) })
  await mirror.pull()

  expect(String(await mirror.bytesOf(SERVED))).toBe(FILES['SKILL.md'])
  expect(String(await mirror.bytesOf(FILE))).toBe('packed')
  expect(new Set(au.reads())).toEqual(new Set([INDEX, TAR]))
})

test('archives are ignored unless the configuration says otherwise', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))

  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", approval: none` })

  expect(await mirror.urisListed()).toEqual([])
  expect(mirror.findings('au')).toEqual([])
  expect(au.reads()).toEqual([INDEX])
})

const SKILL_MD = { name: 'SKILL.md', content: skill('bad') }

/** What no archive may hold beside its SKILL.md, by the message about it. */
const BAD: Readonly<Record<Form, Readonly<Record<string, Buffer>>>> = {
  'tar.gz': {
    '"../evil.md" has a segment': tarWith({ name: '../evil.md' }),
    '"/evil.md" has an absolute name': tarWith({ name: '/evil.md' }),
    '"a.md" is there twice': tarWith({ name: 'a.md' }, { name: 'a.md' }),
    'no SKILL.md at its root': tarGz({ name: 'other.md' }),
    '"link" is a symbolic link': tarWith({ name: 'link', type: '2', link: '../../evil.md' }),
    '"link" is a hard link': tarWith({ name: 'link', type: '1', link: '/evil.md' }),
    'more than 1024 members': tarWith(...Array.from({ length: 2_000 }, (_, at) => ({ name: `f${at}` }))),
    'is deeper than 32 segments': tarWith(pax({ path: `${'d/'.repeat(99)}f` }), { name: 'f' }),
    'has a backslash in its name': tarWith({ name: '..\\evil.md' }),
    'has the letter of a drive': tarWith({ name: 'C:/evil.md' }),
    '"//server/share/evil.md" has an absolute name': tarWith({ name: '//server/share/evil.md' }),
    'meets "SKILL.md" where case': tarWith({ name: 'Skill.md' }),
    '"pipe" is a pipe': tarWith({ name: 'pipe', type: '6' }),
    '"device" is a device': tarWith({ name: 'device', type: '3' }),
  },
  zip: {
    '"../evil.md" has a segment': zipOf({ name: '../evil.md' }),
    '"/evil.md" has an absolute name': zipOf({ name: '/evil.md' }),
    '"a.md" is there twice': zipOf({ name: 'a.md' }, { name: 'a.md' }),
    'no SKILL.md at its root': zip({ name: 'other.md' }),
    '"link" is a symbolic link': zipOf({ name: 'link', mode: 0o120777, content: '../../evil.md' }),
    'more than 1024 members': zipOf(...Array.from({ length: 2_000 }, (_, at) => ({ name: `f${at}` }))),
    'is deeper than 32 segments': zipOf({ name: `${'d/'.repeat(99)}f` }),
    'has a backslash in its name': zipOf({ name: '..\\evil.md' }),
    'has the letter of a drive': zipOf({ name: 'C:/evil.md' }),
    '"//server/share/evil.md" has an absolute name': zipOf({ name: '//server/share/evil.md' }),
    'meets "SKILL.md" where case': zipOf({ name: 'Skill.md' }),
    '"pipe" is a pipe': zipOf({ name: 'pipe', mode: 0o010644 }),
    '"device" is a device': zipOf({ name: 'device', mode: 0o020644 }),
  },
}

test.each<Form>(['tar.gz', 'zip'])(
  'each %s with a bad member is refused, hides no other, and leaves nothing anywhere',
  async (form) => {
    await using au = await HostileServer.start()
    const bad = Object.entries(BAD[form])
    bad.forEach(([, bytes], at) => offer(au, 'index-r1', `skill://bad/${at}/bad.${form}`, bytes))
    offer(au, 'index-r1', `skill://acme/refunds.${form}`, packedIn(form, FILES))
    await using folder = await temporaryFolder()
    const state = join(folder.path, 'a/b/state')

    await using mirror = await Mirror.start({ au: of(au) }, { state })
    const told = problemsIn(mirror.source('au'))
    const names = await readdir(folder.path, { recursive: true })

    expect(await mirror.urisListed()).toEqual([SERVED])
    expect(told.map(({ code, path }) => `${code} ${path}`)).toEqual(bad.map((_, at) => `entry-refused bad/${at}/bad`))
    bad.forEach(([why], at) => expect(told[at]?.message).toContain(why))
    expect(names.filter((name) => !name.startsWith('a/b/state/')).toSorted()).toEqual(['a', 'a/b', 'a/b/state'])
    expect(names.filter((name) => /evil|link|pipe|device|[Ss]kill\.md/.test(name))).toEqual(['a/b/state/links'])
    expect(await keptIn(mirror)).toEqual(Object.values(FILES).map(sha256).toSorted())
  },
)

test('nothing that a link names outside of the archive is there afterwards, and a file of that name stays as it was', async () => {
  await using folder = await temporaryFolder()
  const outside = join(folder.path, 'outside.md')
  await writeFile(outside, 'mine')
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, tarWith({ name: 'x', type: '2', link: outside }, { name: 'x', content: 'theirs' }))

  await using mirror = await Mirror.start({ au: of(au) }, { state: join(folder.path, 'state') })

  expect(await mirror.urisListed()).toEqual([])
  expect((await stat(outside)).size).toBe('mine'.length)
})

test('a bomb of 128 MiB is refused at the cap, and nothing of it is kept', async () => {
  await using au = await HostileServer.start()
  const size = 2 ** 27
  const data = deflateRawSync(Buffer.alloc(size))
  offer(au, 'index-r1', 'skill://bomb/tar.tgz', tarWith({ name: 'bomb', size, content: Buffer.alloc(2 ** 20) }))
  offer(au, 'index-r1', 'skill://bomb/zip.zip', zipOf({ name: 'bomb', data, said: { size } }))
  offer(au, 'index-r1', 'skill://bomb/liar.zip', zipOf({ name: 'bomb', data, said: { size: 9 } }))
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.findings('au')).toEqual(['limit-bytes bomb/tar', 'limit-bytes bomb/zip', 'entry-refused bomb/liar'])
  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(await keptIn(mirror)).toHaveLength(2)
})

test('the fifth of five archives of 45 MiB is refused for what all came to, until an hour has passed', async () => {
  await using au = await HostileServer.start()
  const large = bombOf(45 * 2 ** 20)
  for (const at of [1, 2, 3, 4, 5]) offer(au, 'index-r1', `skill://large/${at}.tar.gz`, large)
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))
  const clock = new FakeClock()

  await using mirror = await Mirror.start({ au: of(au) }, { clock })
  const first = mirror.findings('au')
  await mirror.pull()
  const reads = au.reads().filter((uri) => uri !== INDEX)
  await clock.advance(3_600_000)
  await mirror.pull()

  const four = [1, 2, 3, 4].map((at) => `limit-bytes large/${at}`)
  expect(first).toEqual([...four, 'not-read large/5'])
  expect(reads).toHaveLength(6)
  expect(await mirror.urisListed()).toEqual([SERVED])
  expect(mirror.findings('au')).toEqual([...four, 'limit-bytes large/5'])
})

test('an archive that is declared to be too large is not read, and one that turns out to be is not unpacked', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, packedIn('tar.gz', FILES))
  offer(au, 'index-r0', 'skill://other.zip', zipOf({ name: 'a', method: 0, content: 'x'.repeat(3000) }))
  au.on('resources/list', () => ({ resources: [{ uri: TAR, name: 'refunds', size: 5000 }] }))

  await using mirror = await Mirror.start({ au: `${of(au)}, budgets: { file_bytes: 2000 }` })

  expect(mirror.findings('au')).toEqual(['limit-bytes acme/refunds', 'limit-bytes other'])
  expect(au.reads()).toEqual([INDEX, 'skill://other.zip'])
})

test('an archive that comes to more files or bytes than a skill may have is refused', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', 'skill://many.zip', zipOf(...Array.from({ length: 9 }, (_, at) => ({ name: `${at}` }))))
  offer(au, 'index-r1', 'skill://large.tar.gz', tarWith({ name: 'a', content: 'x'.repeat(3000) }))

  await using mirror = await Mirror.start({ au: of(au) }, { config: ['limits: { skill: { files: 9, bytes: 2KiB } }'] })

  expect(mirror.findings('au')).toEqual(['limit-files many', 'limit-bytes large'])
  expect(await keptIn(mirror)).toEqual([])
})

test('a file with the bits 04755 is served, and what is kept of it has no such bits', async () => {
  await using au = await HostileServer.start()
  const files = [
    { name: 'SKILL.md', content: FILES['SKILL.md'] },
    { name: 'run.sh', content: 'echo', mode: 0o4755 },
  ]
  offer(au, 'index-r1', TAR, tarGz(...files))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(String(await mirror.bytesOf('skill://au/acme/refunds/run.sh'))).toBe('echo')
  const { mode } = await stat(keptAt(mirror, 'echo'))
  expect(mode & 0o7777).toBe(0o400)
})

test.each<Enumeration>(['index-r0', 'index-r2'])(
  'two archives of the name refunds under two prefixes are two skills (%s)',
  async (offers) => {
    await using au = await HostileServer.start()
    const [one, two] = [skill('refunds', 'one'), skill('refunds', 'two')]
    offer(au, offers, 'skill://one/refunds.tar.gz', packedIn('tar.gz', { 'SKILL.md': one }))
    offer(au, offers, 'skill://two/refunds.zip', packedIn('zip', { 'SKILL.md': two }))

    await using mirror = await Mirror.start({ au: of(au) })

    expect(await mirror.urisListed()).toEqual(['skill://au/one/refunds/SKILL.md', 'skill://au/two/refunds/SKILL.md'])
    expect(String(await mirror.bytesOf('skill://au/one/refunds/SKILL.md'))).toBe(one)
    expect(String(await mirror.bytesOf('skill://au/two/refunds/SKILL.md'))).toBe(two)
  },
)

test.each<Enumeration>(['index-r1', 'index-r2'])(
  'an archive that is not what its digest says is refused before anything looks into it (%s)',
  async (offers) => {
    await using au = await HostileServer.start()
    offer(au, offers, TAR, packedIn('tar.gz', FILES))
    au.skills.setResource(TAR, 'this is no archive')

    await using mirror = await Mirror.start({ au: of(au) })

    const [finding, ...others] = problemsIn(mirror.source('au'))
    expect(others).toEqual([])
    expect(finding).toMatchObject({ code: 'content-mismatch', path: 'acme/refunds' })
    expect(finding?.message).toContain(`its SHA-256 is ${sha256('this is no archive')}`)
    expect(await keptIn(mirror)).toEqual([])
  },
)

test('a digest in another form than sha256: with 64 small digits refuses the archive unread', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES), { digest: `sha256:${'A'.repeat(64)}` })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.findings('au')).toEqual(['entry-refused acme/refunds'])
  expect(au.reads()).toEqual([INDEX])
})

test('a skill that is offered unpacked too is taken unpacked, and of two archives of one skill one is read', async () => {
  await using au = await HostileServer.start()
  au.offers = 'index-r2'
  const archives = [{ url: 'skill://both.zip', mimeType: 'application/zip', digest: `sha256:${'0'.repeat(64)}` }]
  au.skills.set('skill://both/SKILL.md', { 'SKILL.md': skill('both') }, { archives })
  au.skills.set('skill://apart/SKILL.md', { 'SKILL.md': skill('apart') })
  offer(au, 'index-r0', 'skill://apart.zip', packedIn('zip', { 'SKILL.md': skill('apart', 'packed') }))
  offer(au, 'index-r2', ZIP, packedIn('zip', FILES))
  offer(au, 'index-r2', TAR, packedIn('tar.gz', FILES))
  au.offers = 'index-r2'

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await mirror.urisListed()).toEqual([SERVED, 'skill://au/apart/SKILL.md', 'skill://au/both/SKILL.md'])
  expect(String(await mirror.bytesOf('skill://au/apart/SKILL.md'))).toBe(skill('apart'))
  expect(au.reads().filter((uri) => !uri.endsWith('.md'))).toEqual([INDEX, ZIP])
})

test.each(['https://evil.example/refunds.zip', 'skill://a/../refunds.zip', 'skill://refunds.zip?x', 'skill://.zip'])(
  'an archive at %s is not read',
  async (url) => {
    await using au = await HostileServer.start()
    offer(au, 'index-r0', url, packedIn('zip', FILES))

    await using mirror = await Mirror.start({ au: of(au) })

    expect(mirror.findings('au')).toEqual(['entry-refused'])
    expect(au.reads()).toEqual([INDEX])
  },
)

test('a skill that the configuration leaves out, and an archive in a form that nobody knows, are not read', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, packedIn('tar.gz', FILES))
  offer(au, 'index-r0', 'skill://other.rar', 'Rar!')

  await using mirror = await Mirror.start({ au: `${of(au)}, exclude: ["acme/**"]` })

  expect(mirror.findings('au')).toEqual(['entry-refused other.rar'])
  expect(au.reads()).toEqual([INDEX])
})

test('a frontmatter in the index that is not the one in the archive leaves the skill out', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r2', TAR, packedIn('tar.gz', FILES), {}, { name: 'refunds', description: 'another' })

  await using mirror = await Mirror.start({ au: of(au) })

  expect(mirror.findings('au')).toEqual(['content-mismatch acme/refunds'])
})

test('an archive whose digest is the same is not read again, by a later process neither', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))
  offer(au, 'index-r1', 'skill://bad.zip', zipOf({ name: '../evil' }))
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: of(au) }, { clock })

  await clock.advance(86_400_000)
  await mirror.pull()
  const reads = au.reads().filter((uri) => uri !== INDEX)
  await mirror.stop()
  await using next = await Mirror.start({ au: of(au) }, { state: mirror.state })

  expect(reads).toEqual([TAR, 'skill://bad.zip'])
  expect(au.reads().filter((uri) => uri === TAR)).toHaveLength(1)
  expect(await next.urisListed()).toEqual([SERVED])
  expect(String(await next.bytesOf(FILE))).toBe('packed')
})

test('an archive without a digest is read again at the next look of the schedule alone', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, packedIn('tar.gz', FILES))
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: of(au) }, { clock })
  au.skills.setResource(TAR, packedIn('tar.gz', { ...FILES, 'sub/a b.md': 'newer' }))

  await mirror.pull()
  const between = String(await mirror.bytesOf(FILE))
  await clock.advance(300_000)
  await mirror.pull()

  expect(between).toBe('packed')
  expect(String(await mirror.bytesOf(FILE))).toBe('newer')
  expect(au.reads().filter((uri) => uri === TAR)).toHaveLength(2)
})

test('an archive with another digest is another set of files, and waits for a person again', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))
  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", packed: read` })
  const isApproved = await mirror.approve('au', 'acme/refunds')
  const first = await mirror.urisListed()

  au.skills.setResource(INDEX, JSON.stringify({ skills: [parcel(TAR, packedIn('tar.gz', { ...FILES, b: 'b' }))] }))
  au.skills.setResource(TAR, packedIn('tar.gz', { ...FILES, b: 'b' }))
  await mirror.pull()

  expect(isApproved).toBe(true)
  expect(first).toEqual([SERVED])
  expect(await mirror.urisListed()).toEqual([])
  expect(pathsIn(mirror.source('au'), 'waiting')).toEqual(['acme/refunds'])
})

test.each([
  ['is missing', async (path: string) => rm(path)],
  [
    'is damaged',
    async (path: string) => {
      await chmod(path, 0o600)
      await writeFile(path, 'other!')
    },
  ],
])('a stored file of an archive that %s is had by reading the archive again', async (_, harm) => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, packedIn('tar.gz', FILES))
  await using mirror = await Mirror.start({ au: of(au) })
  await harm(keptAt(mirror, 'packed'))

  const got = await mirror.bytesOf(FILE)

  expect(String(got)).toBe('packed')
  expect(au.reads()).toEqual([INDEX, TAR, INDEX, TAR])
})

test('a lost file whose archive has become another is given to nobody, and the skill is what it is now', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, packedIn('tar.gz', FILES))
  await using mirror = await Mirror.start({ au: of(au) })
  await rm(keptAt(mirror, 'packed'))
  au.skills.setResource(TAR, packedIn('tar.gz', { ...FILES, 'sub/a b.md': 'newer' }))

  const got = await mirror.bytesOf(FILE)
  await mirror.logged('source-updated', 2)

  expect(got).toBe(-32_603)
  expect(String(await mirror.bytesOf(FILE))).toBe('newer')
  expect(new Set(au.reads())).toEqual(new Set([INDEX, TAR]))
})

test('once the budget of an hour is spent, what was unpacked before is served on', async () => {
  await using au = await HostileServer.start()
  const archive = packedIn('tar.gz', FILES)
  offer(au, 'index-r0', TAR, archive)
  const clock = new FakeClock()
  const source = `${of(au)}, budgets: { hourly_bytes: ${archive.length} }`
  await using mirror = await Mirror.start({ au: source }, { clock })

  await clock.advance(300_000)
  await mirror.pull()

  expect(au.reads().filter((uri) => uri === TAR)).toHaveLength(1)
  expect(String(await mirror.bytesOf(FILE))).toBe('packed')
})

test('what an archive holds counts against what may be stored', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r1', TAR, tarWith({ name: 'a', content: 'x'.repeat(5000) }))

  await using mirror = await Mirror.start({ au: `${of(au)}, budgets: { stored_bytes: 4000 }` })

  expect(mirror.findings('au')).toEqual(['not-read acme/refunds'])
  expect(await keptIn(mirror)).toEqual([])
})

test('the server is asked to tell of the archive, and not of files that it does not have', async () => {
  await using au = await HostileServer.start()
  offer(au, 'index-r0', TAR, packedIn('tar.gz', FILES))
  await using mirror = await Mirror.start({ au: of(au) })
  mirror.daemon.poll()
  await au.subscribed(TAR)
  au.skills.setResource(TAR, packedIn('tar.gz', { ...FILES, 'sub/a b.md': 'newer' }))

  au.notify('notifications/resources/updated', { uri: TAR })
  await mirror.logged('source-updated', 2)

  expect(String(await mirror.bytesOf(FILE))).toBe('newer')
})

type Form = 'tar.gz' | 'zip'

/** Adds an archive to the index, true but for what is overridden. */
function offer(
  au: HostileServer,
  offers: Enumeration,
  url: string,
  bytes: Buffer | string,
  override: object = {},
  frontmatter: object = { name: nameIn(url), description: 'd' },
): string {
  au.offers = offers
  au.skills.setResource(url, bytes)
  const digest = `sha256:${sha256(bytes)}`
  const mimeType = url.endsWith('.zip') ? 'application/zip' : 'application/gzip'
  const archive = { url, mimeType, digest, ...override }
  if (offers === 'index-r2') au.skills.addEntry({ frontmatter, archives: [archive] })
  else if (offers === 'index-r1') au.skills.addEntry({ ...parcel(url, bytes), ...override })
  else au.skills.addEntry({ type: 'archive', ...frontmatter, url })
  return url
}

/** The entry of an archive as the revision of June 3 has it. */
function parcel(url: string, bytes: Buffer | string): object {
  return { type: 'archive', name: nameIn(url), description: 'd', url, digest: `sha256:${sha256(bytes)}` }
}

function nameIn(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1).replace(/\..*$/, '')
}

function packedIn(form: Form, files: Readonly<Record<string, string>>): Buffer {
  const members = Object.entries(files).map(([name, content]) => ({ name, content }))
  return form === 'zip' ? zip(...members) : tarGz(...members)
}

function tarWith(...members: readonly TarMember[]): Buffer {
  return tarGz(SKILL_MD, ...members)
}

function zipOf(...members: readonly ZipMember[]): Buffer {
  return zip(SKILL_MD, ...members)
}

/** So many zeros in a gzipped tar. */
function bombOf(size: number): Buffer {
  const start = tar(SKILL_MD).subarray(0, -TAR_END.length)
  return gzipSync(Buffer.concat([start, tarMember({ name: 'zeros', content: Buffer.alloc(size) }), TAR_END]))
}

async function keptIn(mirror: Mirror): Promise<readonly string[]> {
  const names: string[] = await readdir(join(mirror.state, 'upstreams/au/files')).catch(() => [])
  return names.toSorted()
}

function keptAt(mirror: Mirror, text: string): string {
  return join(mirror.state, 'upstreams/au/files', sha256(text))
}

function promise(uri: string, text: string): object {
  return { uri, digest: `sha256:${sha256(text)}`, size: Buffer.byteLength(text) }
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none, packed: read`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
