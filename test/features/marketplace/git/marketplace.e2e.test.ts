import { once } from 'node:events'
import fs from 'node:fs'
import { open, readdir, readFile, readlink, stat, truncate } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import * as isomorphic from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import { describe, expect, test } from 'vitest'
import { packet } from '../../../../src/base/pkt-line.ts'
import { ContentUnavailableError } from '../../../../src/features/marketplace/read-whole.ts'
import { ask } from '../../../serve/http/ask.ts'
import { damageObject } from '../../../support/damage.ts'
import { Repository } from '../../../support/git/repository.ts'
import type { Content } from '../../../support/git/repository.ts'
import { git, gitWith, MARKETPLACE, PACKS, Scene, skill, withToken } from '../../../support/http/marketplace.ts'
import { pullNow } from '../../../support/pull-now.ts'
import { serve } from '../../../support/served.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const FILES: Readonly<Record<string, Content>> = {
  'write-letter/SKILL.md': skill('write-letter'),
  'write-letter/scripts/run.sh': { executable: '#!/bin/sh\r\necho\n' },
  'write-letter/data/blob.bin': Buffer.from([0, 1, 2, 255, 13, 10]),
  'write-letter/link.md': { link: 'SKILL.md' },
  'tidy/SKILL.md': skill('tidy'),
}

describe('git clones the marketplace', () => {
  const versions = ['0', '1', '2']
  const ways = [
    ['whole', []],
    ['shallow', ['--depth', '1']],
    ['with a filter', ['--filter=blob:none', '--no-checkout']],
    ['as a mirror', ['--mirror']],
    ['by its branch', ['--branch', 'main']],
  ] as const

  test.each(versions.flatMap((version) => ways.map(([way, flags]) => [version, way, flags] as const)))(
    'by version %s of the protocol, %s',
    async (version, _, flags) => {
      await using scene = await Scene.serving(FILES)

      const clone = await scene.clone(['-c', `protocol.version=${version}`], flags)

      const tip = await git(['rev-parse', 'HEAD'], clone)
      expect(tip).toBe(await scene.tip())
      expect(await git(['fsck', '--full', '--strict'], clone)).toBe('')
      expect(await git(['rev-list', '--count', 'HEAD'], clone)).toBe('1')
    },
  )

  test('and has the bytes and modes of the files, links inside a skill as copies', async () => {
    await using scene = await Scene.serving(FILES)

    const clone = await scene.clone()

    const folder = join(clone, 'plugins/writing/skills/write-letter')
    expect((await readdir(folder, { recursive: true })).toSorted()).toEqual(
      ['SKILL.md', 'data', 'data/blob.bin', 'link.md', 'scripts', 'scripts/run.sh'].toSorted(),
    )
    expect(await readFile(join(folder, 'data/blob.bin'))).toEqual(FILES['write-letter/data/blob.bin'])
    expect(await readFile(join(folder, 'link.md'), 'utf8')).toBe(FILES['write-letter/SKILL.md'])
    expect(await readFile(join(folder, 'scripts/run.sh'), 'latin1')).toBe('#!/bin/sh\r\necho\n')
    expect((await stat(join(folder, 'scripts/run.sh'))).mode & 0o111).not.toBe(0)
    expect((await stat(join(folder, 'SKILL.md'))).mode & 0o111).toBe(0)
    expect(await readdir(join(clone, 'plugins/skills/skills'))).toEqual(['tidy'])
  })

  test('whose manifests name the same plugins, versions and paths', async () => {
    await using scene = await Scene.serving(FILES)

    const clone = await scene.clone()

    const json = async (path: string) => JSON.parse(await readFile(join(clone, path), 'utf8'))
    const claude = await json('.claude-plugin/marketplace.json')
    const agents = await json('.agents/plugins/marketplace.json')
    const cursor = await json('.cursor-plugin/marketplace.json')
    const version = expect.stringMatching(/^0\.0\.0-g[0-9a-f]{12}$/)
    expect(claude).toEqual({
      name: 'acme',
      owner: { name: 'Acme' },
      description: 'Skills of Acme',
      forceRemoveDeletedPlugins: true,
      renames: {},
      plugins: [
        { name: 'skills', source: './plugins/skills', description: 'Skills of Acme', version },
        { name: 'writing', source: './plugins/writing', description: 'To write', version },
      ],
    })
    expect(agents.plugins.map((plugin: { source: object }) => plugin.source)).toEqual([
      { source: 'local', path: './plugins/skills' },
      { source: 'local', path: './plugins/writing' },
    ])
    expect(cursor.plugins.map((plugin: { source: string }) => plugin.source)).toEqual([
      'plugins/skills',
      'plugins/writing',
    ])
    for (const { name, version: served } of claude.plugins)
      for (const path of ['plugin.json', '.claude-plugin/plugin.json', '.cursor-plugin/plugin.json'])
        expect(await json(`plugins/${name}/${path}`)).toMatchObject({ name, version: served })
    expect(await readFile(join(clone, '.gitattributes'), 'utf8')).toBe('* -text\n')
  })
})

describe('after a change', () => {
  test.each([
    ['0', []],
    ['2', []],
    ['0', ['--depth', '1']],
    ['2', ['--depth', '1']],
  ] as const)(
    'a fetch by version %s with %j gets the difference, and the other plugin is as it was',
    async (version, flags) => {
      await using scene = await Scene.serving(FILES)
      const clone = await scene.clone([], flags)
      const before = await git(['rev-parse', 'HEAD'], clone)
      const others = await git(['rev-parse', 'HEAD:plugins/skills'], clone)
      await scene.commit({ 'write-letter/SKILL.md': skill('write-letter', 'other') })

      await git(['-c', `protocol.version=${version}`, 'fetch', ...flags, 'origin', 'HEAD'], clone)

      const after = await git(['rev-parse', 'FETCH_HEAD'], clone)
      expect(after).toBe(await scene.tip())
      expect(after).not.toBe(before)
      expect(await git(['rev-parse', 'FETCH_HEAD:plugins/skills'], clone)).toBe(others)
      expect(await git(['fsck', '--full', '--strict'], clone)).not.toContain('missing')
      expect(await git(['show', 'FETCH_HEAD:plugins/writing/skills/write-letter/SKILL.md'], clone)).toContain('other')
    },
  )

  test('a client that has the revision of before is sent only the objects that are new', async () => {
    await using scene = await Scene.serving(FILES)
    const clone = await scene.clone()
    const whole = await objectsIn(clone)
    await scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })

    await git(['fetch', 'origin'], clone)

    // The commit, the six trees on the way to the file and to the manifests, the tree of a manifest of the plugin, the
    // file, the manifest of the marketplace, and two of the plugin.
    expect((await objectsIn(clone)) - whole).toBe(12)
    expect(whole).toBeGreaterThan(20)
  })

  test('neither the tip of before nor a blob of it can be had, by any version', async () => {
    await using scene = await Scene.serving(FILES)
    const clone = await scene.clone()
    const tip = await git(['rev-parse', 'HEAD'], clone)
    const blob = await git(['rev-parse', 'HEAD:plugins/skills/skills/tidy/SKILL.md'], clone)
    await scene.commit({ 'tidy/SKILL.md': null })
    expect(await scene.tip()).not.toBe(tip)

    for (const id of [tip, blob]) {
      const wanted = line(`want ${id} side-band-64k`) + FLUSH + line('done')
      expect((await post(scene, wanted)).text).toContain(`not our ref ${id}`)
      const fetched = `${line('command=fetch')}0001${line(`want ${id}`)}${line('done')}${FLUSH}`
      expect((await post(scene, fetched, { 'git-protocol': 'version=2' })).text).toContain(`not our ref ${id}`)
      await expect(git(['fetch', scene.url, id], await scene.emptyClone())).rejects.toThrow('not our ref')
    }
  })

  test('of a rollback upstream the commit is the one that was there before', async () => {
    await using scene = await Scene.serving(FILES)
    const before = await scene.tip()
    await scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
    expect(await scene.tip()).not.toBe(before)

    await scene.commit({ 'tidy/SKILL.md': FILES['tidy/SKILL.md']! })

    expect(await scene.tip()).toBe(before)
  })

  test('each of a hundred clones during changes is one whole revision', async () => {
    await using scene = await Scene.serving(FILES)
    const tips = new Set([await scene.tip()])
    const cloned: string[] = []
    const over = new AbortController()
    const publishing = async (): Promise<void> => {
      for (let at = 0; !over.signal.aborted; at += 1) {
        await scene.commit({ 'tidy/SKILL.md': skill('tidy', `body ${at}`) })
        tips.add(await scene.tip())
      }
    }
    const cloning = async (): Promise<void> => {
      for (let left = CLONES / CLIENTS; left > 0;) {
        const clone = await scene.clone().catch(unlessOutdated)
        if (clone === undefined) continue
        expect(await git(['fsck', '--full', '--strict'], clone)).toBe('')
        expect(await git(['status', '--porcelain'], clone)).toBe('')
        cloned.push(await git(['rev-parse', 'HEAD'], clone))
        left -= 1
      }
    }

    const clients = Promise.all(Array.from({ length: CLIENTS }, cloning)).finally(() => over.abort())
    await Promise.all([publishing(), clients])

    expect(cloned).toHaveLength(CLONES)
    expect(cloned.filter((tip) => !tips.has(tip))).toEqual([])
    expect(new Set(cloned).size).toBeGreaterThan(1)
  })
})

describe('a client with another repository', () => {
  test.each(['0', '2'])('that is shallow fetches the marketplace into it, by version %s', async (version) => {
    await using scene = await Scene.serving(FILES)
    await using other = await Repository.create()
    await other.commits('refs/heads/main', ['one', 'two', 'three'])
    const clone = await scene.cloneOf(`file://${other.folder}`, [], ['--depth', '1'])

    await git(['-c', `protocol.version=${version}`, 'fetch', scene.url, 'HEAD'], clone)

    expect(await git(['rev-parse', 'FETCH_HEAD'], clone)).toBe(await scene.tip())
  })

  test.each(['0', '2'].flatMap((version) => [16, 60].map((commits) => [version, commits] as const)))(
    'with %s and %i commits of its own on a clone fetches a change',
    async (version, commits) => {
      await using scene = await Scene.serving(FILES)
      const clone = await scene.clone()
      await git(['config', 'user.name', 'x'], clone)
      await git(['config', 'user.email', 'x@example.com'], clone)
      const messages = Array.from(
        { length: commits },
        (_, at) =>
          `commit refs/heads/main\ncommitter x <x> ${at} +0000\ndata 1\nx\n${at === 0 ? 'from refs/heads/main^0\n' : ''}\n`,
      )
      await gitWith(messages.join(''), ['fast-import', '--quiet'], clone)
      await scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })

      await git(['-c', `protocol.version=${version}`, 'fetch', 'origin'], clone)

      expect(await git(['rev-parse', 'FETCH_HEAD'], clone)).toBe(await scene.tip())
      expect(await git(['fsck', '--full', '--strict'], clone)).not.toContain('missing')
    },
  )
})

test('isomorphic-git clones and lists the marketplace', async () => {
  await using scene = await Scene.serving(FILES)
  await using whole = await temporaryFolder()
  await using shallow = await temporaryFolder()
  const tip = await scene.tip()

  await isomorphic.clone({ fs, http, dir: whole.path, url: scene.url })
  await isomorphic.clone({ fs, http, dir: shallow.path, url: scene.url, depth: 1, singleBranch: true })
  const refs = await isomorphic.listServerRefs({ http, url: scene.url, protocolVersion: 2, symrefs: true })

  expect(await isomorphic.resolveRef({ fs, dir: whole.path, ref: 'HEAD' })).toBe(tip)
  expect(await isomorphic.resolveRef({ fs, dir: shallow.path, ref: 'HEAD' })).toBe(tip)
  expect(refs).toContainEqual({ ref: 'HEAD', oid: tip, target: 'refs/heads/main' })
})

test('two hubs with the same sources and packs have the same commit, whatever the order of their syncs', async () => {
  await using other = await Repository.create()
  await other.commit({ 'write-poem/SKILL.md': skill('write-poem') })
  await using scene = await Scene.serving(FILES, { more: { other } })
  await using second = await Repository.create()
  await second.commit({ 'first/SKILL.md': skill('first') })
  await second.commit({ 'first/SKILL.md': null, ...FILES })
  await using hub = await serve(other, {
    id: 'other',
    more: { fx: second },
    config: [
      'packs:',
      '  - id: writing',
      '    description: To write',
      '    include: [{ path: write-* }]',
      ...MARKETPLACE,
    ],
  })

  const [tip] = (await git(['ls-remote', `${hub.http.url}/marketplace.git`, 'HEAD'])).split('\t')

  expect(tip).toBe(await scene.tip())
})

describe('a caller', () => {
  test('without a token, or with a wrong one, is refused before any name is given', async () => {
    await using scene = await Scene.hub(FILES)
    const none = await ask(scene.origin, '/marketplace.git/info/refs?service=git-upload-pack')
    const wrong = await ask(scene.origin, '/marketplace.git/info/refs?service=git-upload-pack', {
      headers: basic('x', 'wrong'),
    })

    for (const answer of [none, wrong]) {
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/)
      expect(answer.text).not.toContain('writing')
    }
    await expect(git(['ls-remote', scene.url])).rejects.toThrow(/could not read Username|Authentication failed/)
  })

  test('gives a token as a password of any user, or as a bearer', async () => {
    await using scene = await Scene.hub(FILES)
    const token = await scene.token(['marketplace'])

    const url = new URL(scene.url)
    url.username = 'anybody'
    url.password = token
    const byPassword = await git(['ls-remote', url.href, 'HEAD'])
    const header = `http.extraHeader=Authorization: Bearer ${token}`
    const byBearer = await git(['-c', header, 'ls-remote', scene.url, 'HEAD'])

    expect(byPassword).toBe(byBearer)
    expect(byPassword).toMatch(/^[0-9a-f]{40}\tHEAD$/)
  })

  test('whose token opens other forms alone is refused', async () => {
    await using scene = await Scene.hub(FILES)
    const token = await scene.token(['skills'])

    const answer = await ask(scene.origin, '/marketplace.git/info/refs?service=git-upload-pack', {
      headers: basic('x', token),
    })

    expect(answer.status).toBe(403)
  })

  test('cannot give a token as a password where only bearers are taken', async () => {
    await using scene = await Scene.hub(FILES)
    const token = await scene.token(['well-known', 'marketplace'])

    const answer = await ask(scene.origin, '/.well-known/agent-skills/index.json', { headers: basic('x', token) })

    expect(answer.status).toBe(401)
  })

  test('of one pack sees that plugin alone, as everybody sees it', async () => {
    await using scene = await Scene.hub(FILES)
    const all = await scene.clone([], [], await scene.token(['marketplace']))
    const token = await scene.token(['marketplace'], ['writing'])

    const clone = await scene.clone([], [], token)

    expect(await readdir(join(clone, 'plugins'))).toEqual(['writing'])
    expect(await git(['rev-parse', 'HEAD:plugins/writing'], clone)).toBe(
      await git(['rev-parse', 'HEAD:plugins/writing'], all),
    )
    expect((await readdir(join(all, 'plugins'))).toSorted()).toEqual(['other', 'skills', 'writing'])
    const tip = await git(['rev-parse', 'HEAD'], all)
    await expect(git(['fetch', withToken(scene.url, token), tip], await scene.emptyClone())).rejects.toThrow(
      'not our ref',
    )
  })

  test('finds one pack at an address of its own, and none that it does not see', async () => {
    await using scene = await Scene.hub(FILES)
    const token = await scene.token(['marketplace'], ['writing'])
    const at = (pack: string): string => withToken(`${scene.origin}/packs/${pack}/marketplace.git`, token)

    const clone = await scene.cloneOf(at('writing'))

    expect(JSON.parse(await readFile(join(clone, '.claude-plugin/marketplace.json'), 'utf8'))).toMatchObject({
      name: 'acme-writing',
      plugins: [{ name: 'writing' }],
    })
    await expect(git(['ls-remote', at('other')])).rejects.toThrow('not found')
    await expect(git(['ls-remote', at('none')])).rejects.toThrow('not found')
  })
})

test('a retired pack is served without skills, and a renamed one is named', async () => {
  await using scene = await Scene.serving(FILES, {
    marketplace: ['    retired: [old]', '    renames: { oldest: older, older: writing, other: skills }'],
  })

  const clone = await scene.clone()

  expect(await readdir(join(clone, 'plugins/old'))).not.toContain('skills')
  const { plugins, renames } = JSON.parse(await readFile(join(clone, '.claude-plugin/marketplace.json'), 'utf8'))
  expect(plugins.map(({ name }: { name: string }) => name)).toEqual(['old', 'skills', 'writing'])
  expect(renames).toEqual({ older: 'writing', oldest: 'older', other: 'skills' })
  const pack = await scene.cloneOf(`${scene.origin}/packs/writing/marketplace.git`)
  const ofPack = JSON.parse(await readFile(join(pack, '.claude-plugin/marketplace.json'), 'utf8'))
  expect(ofPack.renames).toEqual({ older: 'writing', oldest: 'older' })
})

test.each([
  ['.gitattributes', { 'bad/.gitattributes': '*.md eol=crlf\n' }],
  ['the name of a device', { 'bad/aux.md': 'a' }],
  ['a trailing dot', { 'bad/name.': 'a' }],
  ['a character of Windows', { 'bad/a:b': 'a' }],
  ['.gitmodules', { 'bad/.gitmodules': 'x' }],
  ['the short name of .gitattributes on Windows', { 'bad/GITATT~1': 'x' }],
  ['.gitattributes as HFS+ reads it', { 'bad/.gitattr\u200cibutes': 'x' }],
])('a skill with %s is left out, and the log says why', async (_, files) => {
  await using scene = await Scene.serving({ ...FILES, 'bad/SKILL.md': skill('bad'), ...files })

  const clone = await scene.clone()

  expect(await readdir(join(clone, 'plugins/skills/skills'))).toEqual(['tidy'])
  expect(scene.served.logged()).toContain('"marketplace-skill-left-out","skill":"fx/bad"')
})

test('a skill with the name of a Windows device is left out', async () => {
  await using scene = await Scene.serving({ ...FILES, 'aux/SKILL.md': skill('aux') })

  expect(await readdir(join(await scene.clone(), 'plugins/skills/skills'))).toEqual(['tidy'])
})

test('a request whose body comes after a skill was withdrawn, or its token revoked, gets nothing of it', async () => {
  await using scene = await Scene.hub(FILES)
  const token = await scene.token(['marketplace'])
  const tip = await git(['ls-remote', withToken(scene.url, token), 'HEAD'])
  const body = line(`want ${tip.slice(0, 40)} side-band-64k`) + FLUSH + line('done')
  const begin = () => {
    const headers = { ...basic('x', token), 'content-length': String(body.length) }
    const sent = request(`${scene.url}/git-upload-pack`, { method: 'POST', headers })
    sent.write(body.slice(0, 8))
    return async () => {
      sent.end(body.slice(8))
      const [response] = await once(sent, 'response')
      return { status: response.statusCode, text: await text(response) }
    }
  }
  const first = begin()
  const second = begin()
  await scene.tip(token)

  await scene.commit({ 'tidy/SKILL.md': null })

  expect((await first()).text).toContain('not our ref')
  await scene.served.daemon.parts.tokens.revoke('token-1')
  expect(await second()).toMatchObject({ status: 401 })
})

test('a pack that is outdated once it is written is not sent, and the next attempt has the new one', async () => {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  await using folder = await temporaryFolder()
  let packs = 0
  const openScratch = async () => {
    asked.resolve()
    await gate.promise
    return open(join(folder.path, `pack-${(packs += 1)}`), 'wx+')
  }
  await using scene = await Scene.serving(FILES, { openScratch })
  const cloning = scene.clone().then(() => 'cloned', String)
  await asked.promise
  await scene.commit({ 'tidy/SKILL.md': null })
  gate.resolve()

  expect(await cloning).toContain('The marketplace has changed; try again')
  expect(await readdir(join(await scene.clone(), 'plugins/skills'))).not.toContain('skills')
})

test('a disk that takes no pack is named, not asked with each request, and tried again later', async () => {
  let [nowMs, tries] = [0, 0]
  await using folder = await temporaryFolder()
  const openScratch = async () => {
    tries += 1
    if (tries === 1) throw new ContentUnavailableError('The disk accepts no data at the moment')
    return open(join(folder.path, 'pack'), 'w+')
  }
  await using scene = await Scene.serving(FILES, { now: () => nowMs, openScratch })

  await expect(scene.clone()).rejects.toThrow('The disk accepts no data at the moment; try again')
  await expect(scene.clone()).rejects.toThrow('try again')
  await expect(scene.clone(['-c', 'protocol.version=0'])).rejects.toThrow('try again')
  expect(tries).toBe(1)
  nowMs += 10_000
  await scene.clone()
  expect(tries).toBe(2)
})

test('packs are written before clients request them: of everything, and of what was requested before', async () => {
  await using folder = await temporaryFolder()
  let packs = 0
  const openScratch = async () => open(join(folder.path, `pack-${(packs += 1)}`), 'wx+')
  await using scene = await Scene.serving(FILES, { openScratch })

  await expect.poll(() => packs).toBe(1)
  await scene.clone()
  expect(packs).toBe(1)
  await scene.commit({ 'write-letter/SKILL.md': skill('write-letter', 'other') })
  await expect.poll(() => packs).toBe(2)
  await git(['ls-remote', `${scene.origin}/packs/writing/marketplace.git`])
  await scene.commit({ 'write-letter/SKILL.md': skill('write-letter', 'another') })
  await expect.poll(() => packs).toBe(4)
  await scene.clone()
  expect(packs).toBe(4)
})

test('a pack that cannot be copied any more does not keep the next one from being written', async () => {
  await using folder = await temporaryFolder()
  let packs = 0
  const openScratch = async () => open(join(folder.path, `pack-${(packs += 1)}`), 'wx+')
  await using scene = await Scene.serving(FILES, { openScratch })
  await scene.clone()
  await truncate(join(folder.path, 'pack-1'), 100)

  await scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  const clone = await scene.clone()

  expect(await git(['fsck', '--full', '--strict'], clone)).toBe('')
  expect(await git(['rev-parse', 'HEAD'], clone)).toBe(await scene.tip())
  expect(packs).toBe(3)
})

test('a server that ends does not wait for a pack that is prepared', async () => {
  await using folder = await temporaryFolder()
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const openScratch = async () => {
    begun.resolve()
    await ended.promise
    return open(join(folder.path, 'pack'), 'w+')
  }
  const scene = await Scene.serving(FILES, { openScratch })
  await begun.promise
  const ending = scene[Symbol.asyncDispose]()
  ended.resolve()
  await ending

  expect((await stat(join(folder.path, 'pack'))).size).toBe(0)
})

test('a client that repeats what it has costs no more than one that does not', async () => {
  await using scene = await Scene.serving(FILES)
  const clone = await scene.clone()
  const tip = await git(['rev-parse', 'HEAD'], clone)
  await scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  const next = await scene.tip()
  const haves = Array.from({ length: 20_000 }, () => line(`have ${tip}`)).join('')
  const body = line(`want ${next} side-band-64k`) + FLUSH + haves + line('done')

  const answer = await post(scene, body)

  // The pack of the difference: its signature, its version and twelve objects.
  const at = answer.bytes.indexOf('PACK')
  expect(answer.bytes.readUInt32BE(at + 8)).toBe(12)
})

test('a file that is damaged is an answer to try again, and no other one is read for it until then', async () => {
  let nowMs = 0
  await using folder = await temporaryFolder()
  const damaged = Promise.withResolvers<void>()
  const openScratch = async () => {
    await damaged.promise
    return open(join(folder.path, 'pack'), 'w+')
  }
  await using scene = await Scene.serving(FILES, { now: () => nowMs, openScratch })
  const [listed] = scene.served.daemon.registry.catalog.listed
  damageObject(scene.served.config.state, listed!.skill.files[0]!.sha256)
  damaged.resolve()
  const empty = await scene.emptyClone()

  await expect(git(['fetch', scene.url, 'HEAD'], empty)).rejects.toThrow('cannot be read at this moment; try again')
  await expect(git(['-c', 'protocol.version=0', 'fetch', scene.url, 'HEAD'], empty)).rejects.toThrow('try again')
  await pullNow(scene.served.daemon)
  nowMs += 10_000
  await expect.poll(async () => scene.clone().then(() => 'cloned', String)).toBe('cloned')
})

test('the files of packs are closed with the server, and one is open for one marketplace', async () => {
  const openFiles = async () => {
    const links = await Promise.all(
      (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
    )
    return links.filter((path) => path.endsWith('(deleted)') && path.includes('/state/tmp/')).length
  }
  const before = await openFiles()
  const scene = await Scene.serving(FILES)
  for (let at = 0; at < 5; at += 1) {
    await scene.commit({ 'tidy/SKILL.md': skill('tidy', `body ${at}`) })
    await Promise.all([scene.clone(), scene.clone(), scene.clone()])
  }

  expect((await openFiles()) - before).toBe(1)
  await scene[Symbol.asyncDispose]()
  expect((await openFiles()) - before).toBe(0)
})

test('a skill whose files a repository does not name by SHA-1 is served too', async () => {
  await using repository = await Repository.create({ objectFormat: 'sha256' })
  await repository.commit(FILES)
  await using scene = await Scene.serving(FILES)
  await using hub = await serve(repository, { config: [...PACKS, ...MARKETPLACE] })

  const [tip] = (await git(['ls-remote', `${hub.http.url}/marketplace.git`, 'HEAD'])).split('\t')

  expect(tip).toBe(await scene.tip())
})

describe('a request that no client of git sends', () => {
  const want = (id: string): string => line(`want ${id} side-band-64k`)

  test.each([
    ['is no lines', () => 'hello', 'not in lines'],
    ['ends within a line', () => '00ffwant', 'not in lines'],
    ['has no want', () => FLUSH, 'nothing is wanted'],
    ['wants a thousand objects', (tip: string) => wants(tip, 1_000), 'not our ref 0000'],
    ['wants what is no id', () => line('want ../../etc/passwd'), 'unexpected line'],
    ['has another line', (tip: string) => want(tip) + line('delete everything') + FLUSH, 'unexpected line'],
  ])('and %s is refused in the words of the protocol', async (_, body, why) => {
    await using scene = await Scene.serving(FILES)

    const answer = await post(scene, body(await scene.tip()))

    expect(answer.status).toBe(200)
    expect(answer.text).toMatch(/^[0-9a-f]{4}ERR upload-pack: /)
    expect(answer.text).toContain(why)
  })

  function wants(tip: string, count: number): string {
    const others = Array.from({ length: count }, (_, at) => line(`want ${at.toString(16).padStart(40, '0')}`))
    return want(tip) + others.join('') + FLUSH
  }

  test.each([
    ['an unknown command', `${line('command=object-info')}0001${FLUSH}`],
    ['no command', FLUSH],
    ['another format of ids', `${line('command=fetch')}${line('object-format=sha256')}0001${FLUSH}`],
    ['a filter', `${line('command=fetch')}0001${line('filter blob:none')}${FLUSH}`],
  ])('with %s is refused, by version 2', async (_, body) => {
    await using scene = await Scene.serving(FILES)

    const answer = await post(scene, body, { 'git-protocol': 'version=2' })

    expect(answer.text).toMatch(/^[0-9a-f]{4}ERR upload-pack: /)
  })

  test('and is too large is refused, also where it is small before it is unpacked', async () => {
    await using scene = await Scene.serving(FILES)
    const large = 'x'.repeat(2 ** 22 + 1)

    const headers = { 'content-length': String(large.length) }
    expect((await post(scene, '', headers)).status).toBe(413)
    expect((await post(scene, gzipSync(large), { 'content-encoding': 'gzip' })).status).toBe(413)
    expect((await post(scene, 'no gzip', { 'content-encoding': 'gzip' })).status).toBe(400)
  })

  test('has no other paths: no push, no dumb protocol, no name that leads elsewhere', async () => {
    await using scene = await Scene.serving(FILES)

    for (const path of [
      '/marketplace.git/HEAD',
      '/marketplace.git/info/refs',
      '/marketplace.git/info/refs?service=git-receive-pack',
      '/marketplace.git/git-receive-pack',
      '/marketplace.git/objects/info/packs',
      '/packs/writing',
      '/packs/../marketplace.git/info/refs?service=git-upload-pack',
      '/packs/writing%2f/marketplace.git/info/refs?service=git-upload-pack',
    ])
      expect([path, (await ask(scene.origin, path)).status]).toEqual([path, 404])
    await expect(git(['push', scene.url, 'HEAD:refs/heads/x'], await scene.clone())).rejects.toThrow('not found')
  })
})

test('without a configuration there is no marketplace', async () => {
  await using repository = await Repository.create()
  await repository.commit(FILES)
  await using hub = await serve(repository)

  expect((await ask(hub.http.url, '/marketplace.git/info/refs?service=git-upload-pack')).status).toBe(404)
})

const CLONES = 100
/** The clients that clone at the same time. */
const CLIENTS = 4

const FLUSH = '0000'

function line(text: string): string {
  return packet(`${text}\n`).toString()
}

function unlessOutdated(error: unknown): undefined {
  const isOutdated = error instanceof Error && /not our ref|The marketplace has changed; try again/.test(error.message)
  if (isOutdated) return undefined
  throw error
}

async function objectsIn(clone: string): Promise<number> {
  const counted = await git(['count-objects', '-v'], clone)
  return ['count', 'in-pack'].reduce(
    (sum, key) => sum + Number(new RegExp(`^${key}: (\\d+)`, 'm').exec(counted)?.[1]),
    0,
  )
}

function basic(user: string, password: string) {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

async function post(scene: Scene, body: string | Buffer, headers: Readonly<Record<string, string>> = {}) {
  return ask(scene.origin, '/marketplace.git/git-upload-pack', { method: 'POST', headers, body })
}
