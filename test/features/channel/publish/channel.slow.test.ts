import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { objectPath } from '../../../../src/features/channel/content/channel-entry.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { Follower } from '../follow/follower.ts'
import type { Skills } from '../follow/follower.ts'
import { KEY, signerNumber, skillNamed, startFileServer } from '../follow/site.ts'
import { Hub, skillsOf } from './hub.ts'
import type { Content } from './hub.ts'

const FIRST: Content = {
  a: [skillNamed('one', 'text', { 'notes.md': 'notes\n' }), skillNamed('two')],
  b: [skillNamed('one', 'of b'), skillNamed('three', '', { 'run.sh!': '#!/bin/sh\n' })],
}
const CHANGED: Content = { ...FIRST, a: [skillNamed('one', 'changed', { 'more.md': 'more\n' }), skillNamed('two')] }
const REMOVED: Content = { ...CHANGED, b: [skillNamed('one', 'of b')] }

/** A history of what a hub serves, each with the skills that are disabled then. */
const HISTORY: readonly (readonly [string, Content, readonly string[]])[] = [
  ['two sources', FIRST, []],
  ['a changed skill', CHANGED, []],
  ['a rollback', FIRST, []],
  ['a disabled skill', FIRST, ['b/three']],
  ['an enabled skill', FIRST, []],
  ['a removed skill', REMOVED, []],
  ['a removed source', { a: FIRST['a'] ?? [] }, []],
  ['nothing', {}, []],
  ['all again', FIRST, ['a/one', 'a/two']],
]

test('a follower of a folder has what the hub serves, after each change', async () => {
  await using hub = await Hub.create()
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  await using follower = await Follower.open({ place: to })

  for (const [name, content, disabled] of HISTORY) {
    await hub.serve(content, disabled)
    await hub.publish(to)
    await follower.updated()
    expect([name, await follower.skills()]).toEqual([name, skillsOf(content, disabled)])
  }
})

test('checkpoints of one second have different times in a folder: a web server makes its entity tag of them', async () => {
  await using hub = await Hub.create()
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  const seconds: number[] = []

  for (const content of [FIRST, CHANGED, REMOVED, FIRST, CHANGED]) {
    await hub.serve(content)
    await hub.publish(to)
    seconds.push(Math.floor((await stat(join(to, 'checkpoint'))).mtimeMs / 1000))
  }

  expect(new Set(seconds).size).toBe(5)
  expect(seconds).toEqual(seconds.toSorted((a, b) => a - b))
})

test('a follower over HTTP has what the hub serves, after each change', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  await using follower = await Follower.open({ place: server.url })
  let connections = 0

  for (const [name, content, disabled] of HISTORY) {
    await hub.serve(content, disabled)
    await hub.publish()
    server.requests.length = 0
    await follower.updated()
    expect([name, await follower.skills()]).toEqual([name, skillsOf(content, disabled)])
    const isFirst = name === 'two sources'
    if (isFirst) connections = server.connections()
    const requested = new Set(server.requests.map(({ path }) => path.split('/')[0]))
    expect([name, requested]).toEqual([name, new Set(['checkpoint', 'tile', isFirst ? 'object' : 'changes'])])
    expect([name, isFirst || server.requests.length]).toEqual([name, isFirst || 3])
  }
  // The first pull requests many objects at a time.
  expect(server.connections()).toBe(connections)
})

test('a follower over HTTP goes on after a restart of the hub, which has no packed changes then', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  await using follower = await Follower.open({ place: server.url })
  await hub.serve(FIRST)
  await hub.publish()
  await follower.updated()

  await hub.reopen()
  await hub.serve(CHANGED)
  await hub.publish()
  await follower.updated()

  expect(await follower.skills()).toEqual(skillsOf(CHANGED))
})

test('a reload of the hub stops no follower, and keeps the packed changes', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(async (path) => hub.read(path))
  await using follower = await Follower.open({ place: server.url })
  await hub.serve(FIRST)
  await hub.publish()
  await follower.updated()
  await hub.serve(CHANGED)
  await hub.publish()

  hub.reload()
  server.requests.length = 0
  await follower.updated()

  expect(await follower.skills()).toEqual(skillsOf(CHANGED))
  expect(server.requests).toHaveLength(3)
  await hub.serve(REMOVED)
  expect(await hub.publish()).toMatchObject({ entries: 3, isNew: true })
  await follower.updated()
  expect(await follower.skills()).toEqual(skillsOf(REMOVED))
})

test('a reload with another name of the log serves nothing of the one before', async () => {
  await using hub = await Hub.create()
  await hub.serve(FIRST)
  await hub.publish()

  hub.reload('other.example.com/channel')

  expect(await hub.read('checkpoint')).toBeUndefined()
})

describe('the log of a hub', () => {
  test('has one entry for each change, and none for an unchanged catalog', async () => {
    await using hub = await Hub.create()
    await hub.serve(FIRST)
    expect(await hub.publish()).toMatchObject({ entries: 1, isNew: true })
    expect(await hub.publish()).toMatchObject({ entries: 1, isNew: false })
    await hub.serve(FIRST)
    expect(await hub.publish()).toMatchObject({ entries: 1, isNew: false })

    await hub.serve(CHANGED)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: true })
    await hub.reopen()
    await hub.serve(CHANGED)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: false })
  })

  test('has another entry twelve hours later', async () => {
    await using hub = await Hub.create()
    await hub.serve(FIRST)
    await hub.publish()

    await hub.clock.advance(12 * 3_600_000 - 1)
    expect(await hub.publish()).toMatchObject({ entries: 1, isNew: false })
    await hub.clock.advance(1)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: true })
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: false })
  })

  test('of which the last line is torn goes on after the line before it', async () => {
    await using hub = await Hub.create()
    await using server = await startFileServer(hub.read)
    await using follower = await Follower.open({ place: server.url })
    await hub.serve(FIRST)
    await hub.publish()
    await follower.updated()
    const whole = await readFile(hub.logFile)

    await appendFile(hub.logFile, whole.subarray(0, 50))
    await hub.reopen()
    await hub.serve(CHANGED)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: true })

    expect((await readFile(hub.logFile)).subarray(0, whole.length)).toEqual(whole)
    await hub.reopen()
    await hub.serve(CHANGED)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: false })
    await follower.updated()
    expect(await follower.skills()).toEqual(skillsOf(CHANGED))
  })

  test.each([
    ['a changed letter', (text: string) => text.replace('"head"', '"Head"')],
    ['an empty line', (text: string) => `\n${text}`],
    ['other spaces', (text: string) => text.replace('":"', '": "')],
    ['NULs', (text: string) => `${'\0'.repeat(40)}\n${text}`],
  ])('with %s is not signed, nor changed, until it is restored', async (_, damage) => {
    await using hub = await Hub.create()
    await hub.serve(FIRST)
    await hub.publish()
    const whole = await readFile(hub.logFile, 'utf8')
    await writeFile(hub.logFile, damage(whole))

    await hub.reopen()
    await hub.serve(CHANGED)
    await expect(hub.publish()).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('line 1'),
    })
    expect(await readFile(hub.logFile, 'utf8')).toBe(damage(whole))
    expect(await hub.read('checkpoint')).toBeUndefined()

    await writeFile(hub.logFile, whole)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: true })
  })

  test('that another process has written to is not cut off, and followed from there', async () => {
    await using hub = await Hub.create()
    await hub.serve(FIRST)
    await hub.publish()
    const other = encodeEntry({ at: '2026-06-15T12:00:00.000Z', head: 'a'.repeat(64) })
    await appendFile(hub.logFile, other)
    const before = await readFile(hub.logFile)

    await hub.serve(CHANGED)
    await expect(hub.publish()).rejects.toMatchObject({ code: 'store-failed' })
    expect(await readFile(hub.logFile)).toEqual(before)

    expect(await hub.publish()).toMatchObject({ entries: 3, isNew: true })
    expect((await readFile(hub.logFile)).subarray(0, before.length)).toEqual(before)
  })

  test.each([
    ['removed', async (file: string) => rm(file)],
    ['cut off', async (file: string) => truncate(file, 20)],
  ])('that is %s while the hub runs is not written to', async (_, damage) => {
    await using hub = await Hub.create()
    await hub.serve(FIRST)
    await hub.publish()
    const whole = await readFile(hub.logFile)
    await damage(hub.logFile)
    const before = await readFile(hub.logFile).catch(() => undefined)

    await hub.serve(CHANGED)
    await expect(hub.publish()).rejects.toMatchObject({ code: 'store-failed' })
    expect(await readFile(hub.logFile).catch(() => undefined)).toEqual(before)

    await writeFile(hub.logFile, whole)
    expect(await hub.publish()).toMatchObject({ entries: 2, isNew: true })
    expect((await readFile(hub.logFile)).subarray(0, whole.length)).toEqual(whole)
  })
})

describe('a folder', () => {
  test.each([
    ['another log of the same key', 'log-forked'],
    ['a longer log', 'log-rolled-back'],
  ])('with %s is refused, and not touched', async (_, code) => {
    await using hub = await Hub.create()
    await using other = await Hub.create()
    await using folder = await temporaryFolder()
    await other.serve(CHANGED)
    await other.publish(folder.path)
    if (code === 'log-rolled-back') {
      await other.serve(FIRST)
      await other.publish(folder.path)
    }
    const before = await filesIn(folder.path)

    await hub.serve(FIRST)
    await expect(hub.publish(folder.path)).rejects.toMatchObject({ code })

    expect(await filesIn(folder.path)).toEqual(before)
  })

  test.each(['', 'something\n', '\0'.repeat(100)])(
    'with %j as its checkpoint is refused, and not touched',
    async (text) => {
      await using hub = await Hub.create()
      await using folder = await temporaryFolder()
      await writeFile(join(folder.path, 'checkpoint'), text)

      await hub.serve(FIRST)
      await expect(hub.publish(folder.path)).rejects.toMatchObject({ code: 'log-unsigned' })

      expect(await filesIn(folder.path)).toEqual(new Map([['checkpoint', text]]))
    },
  )

  test('that an earlier key alone has signed is written on with the present one', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    await hub.reopen()
    hub.signers = [signerNumber(2)]
    await hub.serve(CHANGED)
    await hub.publish(to)

    expect(await followedFrom(to, [verifierText(signerNumber(2))])).toEqual(skillsOf(CHANGED))
  })

  test('that lost a part of its log is mended by the first publication of a process', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    await rm(join(to, 'tile'), { recursive: true })
    await hub.reopen()
    await hub.serve(FIRST)
    await hub.publish(to)

    expect(await followedFrom(to)).toEqual(skillsOf(FIRST))
  })

  test('has nothing of a killed publication after the next one, and keeps the files of others', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    const left = [`.tmp-${'0a'.repeat(16)}`, `object/.tmp-${'1b'.repeat(16)}`, `tile/entries/.tmp-${'2c'.repeat(16)}`]
    for (const name of [...left, 'object/.tmp-notes']) await writeFile(join(to, name), 'half of i')

    await hub.reopen()
    await hub.serve(CHANGED)
    await hub.publish(to)

    const names = [...(await filesIn(to)).keys()]
    expect(names.filter((name) => name.includes('.tmp-'))).toEqual(['object/.tmp-notes'])
    expect(await followedFrom(to)).toEqual(skillsOf(CHANGED))
  })

  test('that was emptied while the hub runs is written anew', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    await rm(to, { recursive: true })

    await hub.publish(to)

    expect(await followedFrom(to)).toEqual(skillsOf(FIRST))
  })

  test('keeps its old channel while a new one is written, and a stopped publication is completed', async () => {
    await using hub = await Hub.create()
    await using folder = await temporaryFolder()
    await using follower = await Follower.open({ place: folder.path })
    await hub.serve(FIRST)
    await hub.publish(folder.path)
    await follower.updated()

    // The file of one skill cannot be written.
    await hub.serve(CHANGED)
    const changed = CHANGED['a']?.[0]?.skill.files.at(-1)?.sha256 ?? ''
    const blocked = join(folder.path, objectPath(changed))
    await mkdir(dirname(blocked), { recursive: true })
    await rm(dirname(blocked), { recursive: true })
    await writeFile(dirname(blocked), 'no folder')
    await expect(hub.publish(folder.path)).rejects.toMatchObject({ code: 'store-failed' })

    expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
    expect(await followedFrom(folder.path)).toEqual(skillsOf(FIRST))

    await rm(dirname(blocked))
    await hub.publish(folder.path)
    await follower.updated()
    expect(await follower.skills()).toEqual(skillsOf(CHANGED))
  })

  test('is not changed by a publication that is aborted', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    const note = await readFile(join(to, 'checkpoint'), 'utf8')

    await hub.serve(CHANGED)
    await expect(hub.publish(to, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' })
    expect(await readFile(join(to, 'checkpoint'), 'utf8')).toBe(note)

    await hub.publish(to)
    expect(await followedFrom(to)).toEqual(skillsOf(CHANGED))
  })

  test('that is up to date is not written to', async () => {
    await using published = await publishedFirst()
    const { hub, to } = published
    const { mtimeMs } = await stat(join(to, 'checkpoint'))

    expect(await hub.publish(to)).toMatchObject({ objects: 0, isNew: false })

    expect((await stat(join(to, 'checkpoint'))).mtimeMs).toBe(mtimeMs)
  })
})

test('nothing of a disabled skill can be fetched', async () => {
  await using hub = await Hub.create()
  await hub.serve({ a: [skillNamed('one')] })
  await hub.publish()
  const secret = skillNamed('secret', 'withdrawn text')
  await hub.serve({ a: [skillNamed('one'), secret] })
  await hub.publish()
  const path = objectPath(secret.skill.files[0]?.sha256 ?? '')
  expect(await hub.read(path)).toBeDefined()
  expect(await hub.read('changes/1')).toBeDefined()

  await hub.serve({ a: [skillNamed('one'), secret] }, ['a/secret'])
  await hub.publish()

  expect(await hub.read(path)).toBeUndefined()
  expect(await hub.read('changes/1')).toBeUndefined()
  expect(await hub.read('changes/2')).toBeDefined()
})

/** A hub that has published `FIRST` to a folder. */
async function publishedFirst(): Promise<{ readonly hub: Hub; readonly to: string } & AsyncDisposable> {
  await using opened = new AsyncDisposableStack()
  const to = join(opened.use(await temporaryFolder()).path, 'channel')
  const hub = opened.use(await Hub.create())
  await hub.serve(FIRST)
  await hub.publish(to)
  const held = opened.move()
  return { hub, to, [Symbol.asyncDispose]: async () => held.disposeAsync() }
}

/** The skills of a new follower of the folder. */
async function followedFrom(to: string, keys: readonly string[] = [KEY]): Promise<Skills> {
  await using follower = await Follower.open({ place: to, keys })
  await follower.updated()
  return await follower.skills()
}

/** The texts of all files below a folder, by path. */
async function filesIn(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const file = join(entry.parentPath, entry.name)
      files.set(file.slice(folder.length + 1), await readFile(file, 'latin1'))
    }
  return files
}

test('a skill that no follower could parse is published as withheld, and keeps no other from the channel', async () => {
  await using hub = await Hub.create()
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  await using follower = await Follower.open({ place: to })
  const odd = skillNamed('odd')
  const findings = [{ rule: 'name-invalid', path: 'odd', message: 'x' }] as const
  await hub.serve({ a: [skillNamed('one'), { ...odd, skill: { ...odd.skill, size: -1, findings } }] })

  await hub.publish(to)
  await follower.updated()
  const skills = follower.current?.snapshot.skills ?? []

  expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
    ['a/odd', 'withheld'],
    ['a/one', 'served'],
  ])
})

describe('a sweep of a folder', () => {
  const step = async (hub: Hub, to: string, number: number) => {
    await hub.serve({ a: [skillNamed('one', `text ${number}`), skillNamed('two')] })
    await hub.publish(to)
  }

  test('removes what the last 64 entries do not name, and nothing else', async () => {
    await using hub = await Hub.create()
    await using folder = await temporaryFolder()
    const to = join(folder.path, 'channel')
    await step(hub, to, 0)
    const first = skillNamed('one', 'text 0').skill.files[0]?.sha256 ?? ''
    await writeFile(join(to, 'files/notes.txt'), 'of a person')
    await mkdir(join(to, 'changes'), { recursive: true })
    await writeFile(join(to, 'changes/readme'), 'of a person')
    for (let number = 1; number <= 62; number += 1) await step(hub, to, number)
    expect(await readFile(join(to, objectPath(first)), 'utf8')).toContain('text 0')

    for (let number = 63; number <= 127; number += 1) await step(hub, to, number)
    await using follower = await Follower.open({ place: to })
    await follower.updated()

    await expect(readFile(join(to, objectPath(first)))).rejects.toThrow('ENOENT')
    expect(await readdir(join(to, 'files'))).toContain('notes.txt')
    expect(await readdir(join(to, 'changes'))).toContain('readme')
    expect(Object.keys(await follower.skills())).toEqual(['a/one', 'a/two'])
  })

  test('is made by the next publication if the 64th entry was written to another folder', async () => {
    await using hub = await Hub.create()
    await using folder = await temporaryFolder()
    const [to, other] = [join(folder.path, 'channel'), join(folder.path, 'other')]
    await step(hub, to, 0)
    const first = skillNamed('one', 'text 0').skill.files[0]?.sha256 ?? ''
    for (let number = 1; number <= 130; number += 1) await step(hub, other, number)
    await step(hub, to, 131)

    await expect(readFile(join(to, objectPath(first)))).rejects.toThrow('ENOENT')
  })
})

test('a folder with the files of another program is not written to', async () => {
  await using hub = await Hub.create()
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'files'))
  await writeFile(join(folder.path, 'index.html'), 'a site')
  await hub.serve(FIRST)

  await expect(hub.publish(folder.path)).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('"index.html"'),
  })
  expect(await readdir(folder.path)).toEqual(['files', 'index.html'])
})

test('a web server of another user can read a folder, whatever the umask is', async () => {
  await using hub = await Hub.create()
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  await hub.serve(FIRST)
  const before = process.umask(0o077)
  try {
    await hub.publish(to)
  } finally {
    process.umask(before)
  }

  const modes = await Promise.all(
    ['checkpoint', 'object', 'tile/0'].map(async (name) => (await stat(join(to, name))).mode),
  )
  expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(['644', '755', '755'])
})
