import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import { readResource } from '../../src/serve/mcp/resources/resources.ts'
import { untar, unzip } from '../support/http/unpack.ts'
import { problemsIn } from '../support/verdicts.ts'
import {
  EXACT,
  KINDS,
  digestOf,
  expectInvalidParams,
  expectNotFound,
  inOrder,
  itemsOf,
  openScene,
  walkPages,
} from './peers.ts'
import type { Scene } from './peers.ts'
import { INDEX, openSmall, readBytes, readJson, readText, skillOf } from './small.ts'

/** The two largest skills of FX show nothing here that others do not. */
const SOURCE = [...EXACT, 'exclude: [edge-*, over-*]']
const ARCHIVES = ['serve: { forms: [default, archives] }']
const UNPACKED_BY = { 'tar.gz': untar, zip: unzip }

interface Entry {
  readonly uri: string
  readonly resources: readonly { readonly uri: string; readonly digest: string }[]
  readonly archives?: readonly { readonly url: string; readonly mimeType: string; readonly digest: string }[]
}

describe('archives of FX', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await openScene({ source: SOURCE, config: ARCHIVES })
  })

  afterAll(() => scene[Symbol.asyncDispose]())

  test.each(KINDS)('the index has two of each skill, and what is served has their digests (%s)', async (kind) => {
    const peer = scene.of(kind)
    const { skills }: { skills: readonly Entry[] } = await readJson(peer, INDEX)

    expect(skills.map(({ uri }) => uri)).toContain(scene.uri('pdf-processing'))
    for (const { uri, archives = [] } of skills) {
      const root = uri.slice(0, -'/SKILL.md'.length)
      expect(archives.map(({ url, mimeType }) => [url, mimeType])).toEqual([
        [`${root}.tar.gz`, 'application/gzip'],
        [`${root}.zip`, 'application/zip'],
      ])
      for (const { url, digest } of archives) expect(digestOf(await readBytes(peer, url))).toBe(digest)
    }
  })

  test.each(['tar.gz', 'zip'] as const)(
    'an unpacked %s is the skill, byte for byte, and nothing else',
    async (format) => {
      for (const skill of [
        'git-workflow',
        'acme/billing/refunds',
        'pdf-processing',
        'outer',
        'link-ok',
        'link-escape',
      ]) {
        const archive = await readBytes(scene.of('M'), `${scene.root(skill)}.${format}`)

        const members = await UNPACKED_BY[format](archive)

        const bytes = new Map([...members].map(([path, member]) => [path, member.bytes]))
        expect(bytes).toEqual(new Map(scene.fixture.filesOf(skill)))
        const executable = [...members].filter(([, { mode }]) => mode === '755').map(([path]) => path)
        expect(executable).toEqual(skill === 'pdf-processing' ? ['scripts/extract.py'] : [])
        expect(JSON.stringify([...members])).not.toContain(scene.fixture.canary)
      }
    },
  )

  test('the files of an archive are in the order of the bytes of their paths', async () => {
    const members = await unzip(await readBytes(scene.of('M'), `${scene.root('pdf-processing')}.zip`))

    const paths = [...members.keys()]
    expect(paths.slice(0, 3)).toEqual(['.hidden.md', 'SKILL.md', 'assets/logo.png'])
    expect(paths).toEqual(inOrder(paths, (path) => path))
  })

  test('a hub elsewhere, of another clone, has the same archives to the byte', async () => {
    const first = await readText(scene.of('M'), INDEX)
    await using elsewhere = await openScene({ source: SOURCE, config: ARCHIVES })

    const second = await readText(elsewhere.of('M'), INDEX)
    const [own, other] = await Promise.all(
      [scene, elsewhere].map((place) => readBytes(place.of('LS'), `${place.root('pdf-processing')}.zip`)),
    )

    expect(first).toBe(second)
    expect(own).toEqual(other)
    expect(first).toContain(digestOf(own!))
  })

  test.each(KINDS)('they are in no entry, no folder, no manifest and no list (%s)', async (kind) => {
    const peer = scene.of(kind)
    const answers = [
      await walkPages(peer, 'skills/list'),
      await walkPages(peer, 'resources/list'),
      await peer.call('resources/directory/read', { uri: scene.prefix }),
      await peer.call('resources/directory/read', { uri: scene.root('acme/billing') }),
      await readJson(peer, `${scene.root('acme/billing/refunds')}/_manifest`),
      itemsOf(await walkPages(peer, 'resources/directory/read', { uri: scene.root('acme/billing/refunds') })),
    ]

    expect(JSON.stringify(answers)).not.toMatch(/\.(?:tar\.gz|zip)/)
    expectInvalidParams(await peer.call('skills/get', { uri: `${scene.root('git-workflow')}.zip` }))
    expectInvalidParams(await peer.call('resources/directory/read', { uri: `${scene.root('git-workflow')}.zip` }))
  })
})

test('without being asked for there is none', async () => {
  await using small = await openSmall({ 'one/SKILL.md': skillOf('one') })

  for (const peer of small.all) {
    const { skills } = await readJson(peer, INDEX)
    expect(skills).toHaveLength(1)
    expect(skills[0]).not.toHaveProperty('archives')
    for (const format of ['tar.gz', 'zip']) {
      const uri = `skill://fx/one.${format}`
      expectNotFound(peer, await peer.call('resources/read', { uri }), uri)
    }
  }
})

test('of a name that tar cannot hold status tells, and all else is served as ever', async () => {
  const long = { held: `${'d'.repeat(120)}/${'f'.repeat(90)}.md`, refused: `${'f'.repeat(120)}.md` }
  const files = {
    'held/SKILL.md': skillOf('held'),
    [`held/${long.held}`]: 'held\n',
    'refused/SKILL.md': skillOf('refused'),
    [`refused/${long.refused}`]: 'refused\n',
  }
  await using small = await openSmall(files, { kinds: ['M'], config: ARCHIVES })
  const peer = small.of('M')

  const { skills }: { skills: readonly Entry[] } = await readJson(peer, INDEX)
  const [held, refused] = skills

  expect((await untar(await readBytes(peer, 'skill://fx/held.tar.gz'))).get(long.held)?.bytes).toEqual(
    Buffer.from('held\n'),
  )
  expect(held?.archives?.map(({ url }) => url)).toEqual(['skill://fx/held.tar.gz', 'skill://fx/held.zip'])
  expect(refused?.archives?.map(({ url }) => url)).toEqual(['skill://fx/refused.zip'])
  expectNotFound(peer, await peer.call('resources/read', { uri: 'skill://fx/refused.tar.gz' }))
  expect((await unzip(await readBytes(peer, 'skill://fx/refused.zip'))).get(long.refused)?.bytes).toEqual(
    Buffer.from('refused\n'),
  )
  expect(small.served.daemon.parts.status.status().sources.flatMap(problemsIn)).toMatchObject([
    {
      code: 'archive-refused',
      path: 'refused',
      state: 'served',
      message: expect.stringContaining(
        `tar.gz of the skill: the tar format cannot hold a name as long as "${long.refused}"`,
      ),
    },
  ])
})

test('a file of the repository that has the URI of an archive is served, and no archive is', async () => {
  const files = {
    'acme/SKILL.md': skillOf('acme'),
    'acme/refunds.tar.gz': 'of the repository\n',
    'acme/refunds/SKILL.md': skillOf('refunds'),
    'acme/refunds.zip/readme.md': 'in a folder\n',
  }
  await using small = await openSmall(files, { config: ARCHIVES })
  const [tar, zip] = ['skill://fx/acme/refunds.tar.gz', 'skill://fx/acme/refunds.zip']

  for (const peer of small.all) {
    const { skills } = await readJson(peer, INDEX)
    expect(JSON.stringify(skills)).not.toContain(`"url":"${tar}"`)
    expect(skills[1]).not.toHaveProperty('archives')
    expect((await readBytes(peer, tar)).toString()).toBe('of the repository\n')
    expectNotFound(peer, await peer.call('resources/read', { uri: zip }), zip)
  }

  // It was told as a file, and as the archive that it gives way to.
  const heard = await small.of('M').subscribe([tar, INDEX])
  await small.commit({ 'acme/refunds.tar.gz': null })
  await heard.next(({ params }) => params?.uri === tar)
  await heard.next(({ params }) => params?.uri === INDEX)
  const members = await untar(await readBytes(small.of('M'), tar))
  expect([...members.keys()]).toEqual(['SKILL.md'])
  expect(heard.messages.map(({ params }) => params.uri).filter((uri) => uri === tar)).toEqual([tar])
})

test('who subscribed to an archive hears of it exactly when its bytes changed, of a mode too', async () => {
  const files = { 'one/SKILL.md': skillOf('one'), 'one/run.sh': '#!/bin/sh\n', 'two/SKILL.md': skillOf('two') }
  await using small = await openSmall(files, { config: ARCHIVES })
  const [one, two, manifest] = ['skill://fx/one.zip', 'skill://fx/two.zip', 'skill://fx/one/_manifest']
  const listeners = await Promise.all(small.all.map((peer) => peer.subscribe([one, two, manifest, INDEX])))
  const before = await readBytes(small.of('M'), one)

  await small.commit({ 'one/run.sh': { executable: '#!/bin/sh\n' } })
  await small.commit({ 'two/SKILL.md': skillOf('two', 'Changed after the other') })

  for (const heard of listeners) {
    await heard.next(({ params }) => params?.uri === two)
    const updates = heard.messages.filter(({ method }) => method === 'notifications/resources/updated')
    const uris = updates.map(({ params }) => params.uri)
    expect(uris.filter((uri) => uri === one)).toEqual([one])
    expect(uris).not.toContain(manifest)
    expect(uris.indexOf(INDEX)).toBeLessThan(uris.indexOf(two))
  }
  expect(await readBytes(small.of('M'), one)).not.toEqual(before)
})

test('an archive of which a file is damaged is not served, and the index goes on without it', async () => {
  await using small = await openSmall(
    { 'one/SKILL.md': skillOf('one'), 'two/SKILL.md': skillOf('two') },
    { kinds: [], config: ARCHIVES },
  )
  const { registry } = small.served.daemon
  const serving = servingOf(small.served.daemon.parts.serving)
  const damaged = registry.catalog.skills.get('skill://fx/one/SKILL.md')!.digest
  const read: typeof serving.read = async (skill, file) =>
    skill.digest === damaged ? undefined : serving.read(skill, file)

  const indexBy = async (reading: typeof read) => {
    const caller = { era: 'modern' } as const
    const making = { forms: serving.forms, read: reading }
    const { contents } = Object(await readResource(registry.catalog, 'skill://index.json', caller, making))
    return JSON.parse(contents[0].text)
  }
  const document = await indexBy(read)
  const mended = await indexBy(serving.read)

  const archivesIn = ({ skills }: { skills: readonly Entry[] }) => skills.map(({ archives }) => archives?.length)
  expect(archivesIn(document)).toEqual([undefined, 2])
  expect(archivesIn(mended)).toEqual([2, 2])
})

test('of many who ask for one archive at once, all have it, and it is made once', async () => {
  await using small = await openSmall({ 'one/SKILL.md': skillOf('one') }, { kinds: [], config: ARCHIVES })
  const { registry } = small.served.daemon
  const serving = servingOf(small.served.daemon.parts.serving)
  let reads = 0
  const read: typeof serving.read = async (skill, file) => {
    reads += 1
    return serving.read(skill, file)
  }

  const ask = async (): Promise<string> => {
    const making = { forms: serving.forms, read }
    const { contents } = Object(await readResource(registry.catalog, 'skill://fx/one.zip', { era: 'modern' }, making))
    return contents[0].blob
  }
  const made = await Promise.all(Array.from({ length: 50 }, ask))
  const later = await ask()

  expect(new Set(made).size).toBe(1)
  expect(later).toMatch(/^UEs/)
  expect(later).toEqual(made[0])
  expect(reads).toBe(2)
})
