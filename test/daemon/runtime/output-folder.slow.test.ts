import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { FolderFile } from '../../../src/daemon/runtime/folder-files.ts'
import { OutputFolder } from '../../../src/daemon/runtime/output-folder.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const CHILD = fileURLToPath(new URL('output-child.mjs', import.meta.url))
const RECORD = '.skillsyncd-projections.json'
const signal = new AbortController().signal

let out: string

beforeEach(async () => {
  const folder = await temporaryFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  out = join(folder.path, 'out')
})

/** One run of the command. */
function opened(now: () => number = Date.now): Promise<OutputFolder> {
  return OutputFolder.open(out, now)
}

function files(text: string): FolderFile[] {
  return [
    { path: 'SKILL.md', executable: false, bytes: Buffer.from(text) },
    { path: 'scripts/run.sh', executable: true, bytes: Buffer.from('#!/bin/sh\n') },
  ]
}

async function written(): Promise<string[]> {
  return (await readdir(out)).toSorted()
}

describe('two runs at once', () => {
  test('into the same folder both know afterwards what either wrote', async () => {
    const [one, other] = [await opened(), await opened()]
    const names = Array.from({ length: 8 }, (_, index) => `skill-${index}`)

    await Promise.all(names.map((name, index) => (index % 2 === 0 ? one : other).put(name, files('first'), signal)))
    const again = await opened()
    const ends = await Promise.all(names.map((name) => again.put(name, files('second'), signal)))

    expect(ends).toEqual(names.map(() => 'written'))
    expect(await written()).toEqual([RECORD, ...names])
  })

  test('of the same skill go one after the other, and the later one replaces what the first wrote', async () => {
    const [one, other] = [await opened(), await opened()]

    const ends = await Promise.all([one.put('a', files('one'), signal), other.put('a', files('two'), signal)])
    const text = await readFile(join(out, 'a/SKILL.md'), 'utf8')
    const next = await (await opened()).put('a', files('three'), signal)

    expect(ends).toEqual(['written', 'written'])
    expect(['one', 'two']).toContain(text)
    expect(next).toBe('written')
    expect(await written()).toEqual([RECORD, 'a'])
  })
})

test('who waits for another run stops when it is told to, and leaves nothing', async () => {
  const stop = new AbortController()
  const output = await opened(() => {
    stop.abort()
    return Date.now()
  })
  await writeFile(join(out, '.skillsyncd-projections.lock'), '')

  const put = output.put('a', files('one'), stop.signal)

  await expect(put).rejects.toMatchObject({ name: 'AbortError' })
  expect(await written()).toEqual(['.skillsyncd-projections.lock'])
})

describe('whichever time the disk refuses to keep the names in the folder', () => {
  test.each([[['one']], [[]]])(
    'the next version goes in, after %j',
    async (before) => {
      let failures = 0
      for (let sync = 1; ; sync += 1) {
        await rm(out, { recursive: true, force: true })
        for (const text of before) await (await opened()).put('a', files(text), signal)
        const child = spawn(process.execPath, [CHILD, out, 'a', 'two', String(sync)])
        const [code] = await once(child, 'close')
        expect(await (await opened()).put('a', files('three'), signal)).toBe('written')
        expect(await readFile(join(out, 'a/SKILL.md'), 'utf8')).toBe('three')
        expect(await written()).toEqual([RECORD, 'a'])
        if (code === 0) break
        failures += 1
      }

      expect(failures).toBe(before.length + 2)
    },
    60_000,
  )
})

describe('after a run that was killed', () => {
  test('between the record and the folder, or behind it, either state is replaced as its own', async () => {
    await (await opened()).put('a', files('one'), signal)
    const before = await readFile(join(out, RECORD), 'utf8')
    await (await opened()).put('a', files('two'), signal)
    const after = await readFile(join(out, RECORD), 'utf8')
    const both = { a: [JSON.parse(before).a, JSON.parse(after).a].flat() }

    const ends = []
    for (const there of ['one', 'two']) {
      await rm(join(out, 'a'), { recursive: true })
      await writeFile(join(out, RECORD), before)
      await (await opened()).put('a', files(there), signal)
      await writeFile(join(out, RECORD), JSON.stringify(both))
      ends.push(await (await opened()).put('a', files('three'), signal))
    }

    expect(both.a).toHaveLength(2)
    expect(ends).toEqual(['written', 'written'])
    expect(JSON.parse(await readFile(join(out, RECORD), 'utf8')).a).toHaveLength(1)
  })

  test('its scratch folder goes once it is an hour old, and its turn is taken over', async () => {
    await mkdir(join(out, `.tmp-${'0'.repeat(32)}`, 'new'), { recursive: true })
    await mkdir(join(out, `.tmp-${'1'.repeat(32)}`))
    await writeFile(join(out, '.skillsyncd-projections.lock'), '')
    const hourAgo = new Date(Date.now() - 3_700_000)
    await utimes(join(out, `.tmp-${'0'.repeat(32)}`), hourAgo, hourAgo)
    await utimes(join(out, '.skillsyncd-projections.lock'), hourAgo, hourAgo)

    await (await opened()).put('a', files('one'), signal)

    expect(await written()).toEqual([RECORD, `.tmp-${'1'.repeat(32)}`, 'a'])
  })
})

describe('what this command did not put there', () => {
  test('is not its own for being equal: it stays when the skill changes', async () => {
    await mkdir(join(out, 'a/scripts'), { recursive: true })
    await writeFile(join(out, 'a/SKILL.md'), 'one')
    await writeFile(join(out, 'a/scripts/run.sh'), '#!/bin/sh\n', { mode: 0o755 })

    const equal = await (await opened()).put('a', files('one'), signal)
    const other = (await opened()).put('a', files('two'), signal)

    expect(equal).toBe('unchanged')
    await expect(other).rejects.toThrow('is not as this command wrote it')
    expect(await readFile(join(out, 'a/SKILL.md'), 'utf8')).toBe('one')
    expect(await written()).toEqual(['a'])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['an empty folder in its place', () => mkdir(join(out, 'a'), { recursive: true })],
    ['an empty folder inside', () => ownWith(() => mkdir(join(out, 'a/mine')))],
    ['a link with the same content inside', () => ownWith(() => linked())],
  ])('is left where it is: %s', async (_, put) => {
    await put()
    const before = await readdir(out, { recursive: true })

    const replaced = (await opened()).put('a', files('two'), signal)

    await expect(replaced).rejects.toThrow('is not as this command wrote it')
    expect(await readdir(out, { recursive: true })).toEqual(before)
  })

  async function ownWith(change: () => Promise<unknown>): Promise<void> {
    await (await opened()).put('a', [...files('one'), { ...files('one')[0]!, path: 'same.md' }], signal)
    await change()
  }

  async function linked(): Promise<void> {
    await rm(join(out, 'a/same.md'))
    await symlink('SKILL.md', join(out, 'a/same.md'))
  }
})

test('a file that is run keeps its bit, and every file is there whole', async () => {
  await (await opened()).put('a', files('one'), signal)

  expect((await stat(join(out, 'a/scripts/run.sh'))).mode & 0o111).not.toBe(0)
  expect((await stat(join(out, 'a/SKILL.md'))).mode & 0o111).toBe(0)
})

test('a record that is too large or no file is not read', async () => {
  await mkdir(join(out, RECORD), { recursive: true })

  await expect(opened()).rejects.toThrow('is not a record of this command')
})
