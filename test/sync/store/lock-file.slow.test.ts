import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../src/base/canonical-json.ts'
import { EMPTY_LOCK, lockEntryOf, mismatchesWith, setDigestOf } from '../../../src/sync/model/decisions/lock.ts'
import type { Lock, LockEntry } from '../../../src/sync/model/decisions/lock.ts'
import { isObjectId } from '../../../src/sync/model/revision.ts'
import type { ObjectId } from '../../../src/sync/model/revision.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import type { Source } from '../../../src/sync/model/source.ts'
import { HIDDEN_POLICIES } from '../../../src/sync/skill/hidden-unicode.ts'
import { changeLock, readLock } from '../../../src/sync/store/lock-file.ts'
import { lockText, readLockText } from '../../../src/sync/store/lock-text.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, snapshotOf, sourceId as idOf } from './samples.ts'

const hex = (length: number) =>
  fc.uint8Array({ minLength: length / 2, maxLength: length / 2 }).map((bytes) => Buffer.from(bytes).toString('hex'))
const objectId = fc.oneof(hex(40), hex(64)).filter((text): text is ObjectId => isObjectId(text))
const sourceId = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/).filter((text): text is SourceId => isSourceId(text))
/** Also names that mean something to JavaScript, and halves of surrogate pairs. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '1', '\uD800', 'é', 'e\u0301', '😀', '～', '\u2028'),
)
/** Fields of a later version: none that this one knows. */
const rest = fc.dictionary(
  text.map((key) => (key === '__proto__' ? key : `x-${key}`)),
  fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))),
  { maxKeys: 3 },
)
const from = fc.record({ ref: text, commit: objectId, tag: objectId }, { requiredKeys: ['ref', 'commit'] })
const locked = fc.record({ name: text, digest: hex(64), rest, from }, { requiredKeys: ['name', 'digest', 'rest'] })
const range = fc.record({ range: text, prefix: text, prereleases: fc.boolean() })
const signer = fc.record({
  scheme: fc.constantFrom('ssh' as const, 'openpgp' as const),
  principal: text,
  fingerprint: text,
})
const entry = fc
  .record({
    url: text,
    asked: fc.oneof(fc.constant(undefined), text, range),
    root: text,
    selection: fc.record({
      include: fc.array(text, { maxLength: 2 }),
      exclude: fc.array(text, { maxLength: 2 }),
      unlisted: fc.array(text, { maxLength: 2 }),
      names: fc.constantFrom('remap' as const, 'exact' as const),
      nested: fc.constantFrom('as-skills' as const, 'as-files' as const),
      onBroken: fc.constantFrom('withhold' as const, 'keep' as const),
      lfs: fc.constantFrom('leave-out' as const, 'withhold' as const, 'pointers' as const),
      hiddenUnicode: fc.constantFrom(...HIDDEN_POLICIES),
      contract: fc.boolean(),
      docs: fc.option(text, { nil: undefined }),
    }),
    ref: text,
    commit: objectId,
    tag: fc.option(objectId, { nil: undefined }),
    tree: objectId,
    signers: fc.option(fc.record({ commit: signer, tag: signer }, { requiredKeys: [] }), { nil: undefined }),
    skills: fc.uniqueArray(fc.tuple(text, locked), { maxLength: 4, selector: ([path]) => path }),
    docs: fc.option(hex(64), { nil: undefined }),
    rest,
  })
  .map((one): LockEntry => {
    const { url, asked, root, selection, ref, commit, tag, tree, signers, docs, rest } = one
    const skills = new Map(one.skills)
    const revision = { asked, ref, commit, ...(tag !== undefined && { tag }) }
    return { url, asked, root, selection, revision, tree, signers, digest: setDigestOf(skills), skills, docs, rest }
  })
const pack = fc.record({
  choices: hex(64),
  sources: fc
    .uniqueArray(fc.tuple(sourceId, hex(64)), { maxLength: 2, selector: ([id]) => id })
    .map((of) => new Map(of)),
  digest: hex(64),
  skills: fc.array(text, { maxLength: 3 }),
  rest,
})
const lock = fc
  .tuple(
    fc.uniqueArray(fc.tuple(sourceId, entry), { maxLength: 3, selector: ([id]) => id }),
    fc.uniqueArray(fc.tuple(sourceId, pack), { maxLength: 2, selector: ([id]) => id }),
    rest,
  )
  .map(([sources, packs, unknown]): Lock => ({ sources: new Map(sources), packs: new Map(packs), rest: unknown }))

const signal = new AbortController().signal

const CHILD = fileURLToPath(new URL('lock-child.mjs', import.meta.url))

const SOURCE: Source = {
  kind: 'git',
  backend: 'auto',
  id: idOf('team'),
  url: 'https://git.example.com/skills.git',
  ref: 'main',
  update: 'auto',
  brakes: 'hold',
  schedule: { kind: 'every', periodMs: 1 },
  root: '',
  include: ['**'],
  exclude: [],
  unlisted: [],
  names: 'remap',
  nested: 'as-skills',
  onBroken: 'withhold',
  lfs: 'withhold',
  hiddenUnicode: 'note',
  contract: false,
  docs: undefined,
  marketplace: false,
}

test('an entry fits no source with another policy of hidden text or of pointers of LFS', () => {
  const entry = lockEntryOf(SOURCE, snapshotOf(numbered(1)))

  expect(mismatchesWith(entry, { ...SOURCE, hiddenUnicode: 'deceptive' })).toMatchObject([
    { message: 'has hidden_unicode "note" in the lock and "deceptive" in the configuration' },
  ])
  expect(mismatchesWith(entry, { ...SOURCE, lfs: 'leave-out' })).toMatchObject([
    { message: 'has lfs "withhold" in the lock and "leave-out" in the configuration' },
  ])
})

describe('the text of a lock', () => {
  test('is byte-identical when it is read and written again, whatever it holds', () => {
    fc.assert(
      fc.property(lock, (each) => {
        const written = lockText(each)

        expect(lockText(readLockText(written, 'skills.lock'))).toBe(written)
      }),
    )
  })

  test('may have other white space: that of a checkout, or of another program', () => {
    fc.assert(
      fc.property(lock, (each) => {
        const written = lockText(each)
        const others = [written.replaceAll('\n', '\r\n'), JSON.stringify(JSON.parse(written)), `\n\t${written}\n`]

        for (const text of others) expect(lockText(readLockText(text, 'skills.lock'))).toBe(written)
      }),
    )
  })

  test('has the fields that nobody knows, of the file, a source and a skill', () => {
    fc.assert(
      fc.property(lock, (each) => {
        const read = readLockText(lockText(each), 'skills.lock')

        expect(canonicalJson(read.rest)).toBe(canonicalJson(each.rest))
        for (const [id, { rest: ofSource, skills }] of each.sources) {
          const entry = read.sources.get(id)
          expect(canonicalJson(entry?.rest)).toBe(canonicalJson(ofSource))
          for (const [path, skill] of skills)
            expect(canonicalJson(entry?.skills.get(path)?.rest)).toBe(canonicalJson(skill.rest))
        }
      }),
    )
  })

  test('does not depend on the order in which sources and skills came', () => {
    fc.assert(
      fc.property(lock, (each) => {
        const turned = [...each.sources].toReversed().map(([id, one]): [SourceId, LockEntry] => {
          return [id, Object.assign({}, one, { skills: new Map([...one.skills].toReversed()) })]
        })

        expect(lockText({ ...each, sources: new Map(turned) })).toBe(lockText(each))
      }),
    )
  })

  test('keeps what nobody knows when a source and a skill of it are locked anew', () => {
    const [one, two] = [numbered(1), numbered(2)]
    const before = lockEntryOf(SOURCE, snapshotOf(one))
    const skills = new Map([...before.skills].map(([path, skill]) => [path, { ...skill, rest: { 'x-owner': 'ada' } }]))
    const marked = { ...before, skills, rest: { 'x-review': 42 } }

    const after = lockEntryOf(SOURCE, snapshotOf({ ...two, skill: { ...two.skill, path: one.skill.path } }), marked)

    expect(after.digest).not.toBe(before.digest)
    expect(after.rest).toEqual({ 'x-review': 42 })
    expect(after.skills.get(one.skill.path)).toMatchObject({ digest: two.skill.digest, rest: { 'x-owner': 'ada' } })
  })
})

describe('a lock that was edited, merged or made by another version', () => {
  const whole = lockText({
    ...EMPTY_LOCK,
    sources: new Map([[idOf('team'), lockEntryOf(SOURCE, snapshotOf(numbered(1)))]]),
  })
  const skillDigest = numbered(1).skill.digest ?? ''

  test.each([
    ['an empty file', '', 'it is not JSON'],
    ['a file cut short', whole.slice(0, 200), 'it is not JSON'],
    ['a list', '[]', 'it is not a JSON object'],
    ['a newer version', whole.replace('"version": 1', '"version": 2'), 'version 2 and this program knows 1'],
    ['no version', whole.replace('"version": 1', '"version": "1"'), 'no "version"'],
    ['no sources', '{"version": 1}', 'no "sources"'],
    ['an id that is none', whole.replace('"team"', '"__proto__"'), 'source "__proto__": it is not an id'],
    ['marks of a conflict', whole.replace('    "team"', '<<<<<<< HEAD\n    "team"'), 'line 3: it has marks of a merge'],
    ['a key twice', whole.replace('"root": ""', '"root": "",\n      "root": "b"'), 'line 9: a key is there twice'],
    [
      'a key twice, indented by tabs',
      whole.replace('"root": ""', '"root": "",\n      "root": "b"').replaceAll('  ', '\t'),
      'line 9: a key is there twice',
    ],
    ['a source twice', twice(whole), 'a key is there twice'],
    ['a commit that is no id', whole.replace('sha1:1', 'sha1:x'), 'source "team", commit: it is not an object id'],
    [
      'a commit of another length',
      whole.replace('sha1:1', 'sha256:1'),
      'source "team", commit: it is not an object id',
    ],
    [
      'a skill digest that is none',
      whole.replace(`sha256:${skillDigest}`, 'sha256:0'),
      'skill "skill-1", digest: it is not a digest',
    ],
    ['another skill digest', whole.replace(skillDigest, '0'.repeat(64)), 'source "team", digest: it is not the digest'],
    [
      'another skill path',
      whole.replace('"skill-1": {', '"skill-2": {'),
      'source "team", digest: it is not the digest',
    ],
    ['a selection that is none', whole.replace('"remap"', '"other"'), 'source "team", selection: "names" or "lfs"'],
  ])('is refused for %s, naming the place', (_, text, why) => {
    const reading = (): Lock => readLockText(text, '/team/skills.lock')

    expect(text).not.toBe(whole)
    expect(reading).toThrow(expect.objectContaining({ code: 'lock-mismatch' }))
    expect(reading).toThrow('"/team/skills.lock"')
    expect(reading).toThrow(why)
  })

  test('is not written over while it cannot be read', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'skills.lock')
    await writeFile(file, '{')

    await expect(changeLock(file, () => EMPTY_LOCK, Date.now, signal)).rejects.toMatchObject({ code: 'lock-mismatch' })

    expect(await readFile(file, 'utf8')).toBe('{')
    expect(await readdir(folder.path)).toEqual(['skills.lock'])
  })
})

describe('changing a lock', () => {
  test('writes nothing where nothing changed, and leaves nothing beside it', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'skills.lock')
    const change = (before: Lock): Lock => ({ ...before, rest: { 'x-mark': 1 } })

    const ends = [await changeLock(file, change, Date.now, signal), await changeLock(file, change, Date.now, signal)]

    expect(ends).toEqual([true, false])
    expect(await readdir(folder.path)).toEqual(['skills.lock'])
  })

  test('twenty at once go one after the other, and none loses what another wrote', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'skills.lock')
    const numbers = Array.from({ length: 20 }, (_, index) => index)

    await Promise.all(
      numbers.map(async (number) =>
        changeLock(
          file,
          ({ rest, ...known }) => ({ ...known, rest: { ...rest, [`x-${number}`]: number } }),
          Date.now,
          signal,
        ),
      ),
    )

    const lock = await readLock(file)
    expect(lock?.rest).toEqual(Object.fromEntries(numbers.map((number) => [`x-${number}`, number])))
    expect(await readdir(folder.path)).toEqual(['skills.lock'])
  })

  test('takes over the draft of one that was killed, once it is older than writing takes', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'skills.lock')
    await writeFile(`${file}.new`, 'half of a lo')
    await utimes(`${file}.new`, 1_000, 1_000)
    const looks = [1_009_000, 1_009_999, 1_011_000]

    const isWritten = await changeLock(file, mark(1), () => looks.shift() ?? 1_011_000, signal)

    expect(isWritten).toBe(true)
    expect(looks).toEqual([])
    expect((await readLock(file))?.rest).toEqual({ 'x-mark': 1 })
    expect(await readdir(folder.path)).toEqual(['skills.lock'])
  })

  test('starts again where it slept until somebody took its draft over, and mixes no two texts', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'skills.lock')
    const muchLater = (): number => Date.now() + 3_600_000
    let turns = 0
    const slow = (before: Lock): Lock => {
      turns += 1
      // While this one is about to write, another finds its draft too old.
      if (turns === 1) replaceDraft(file)
      return { ...before, rest: { ...before.rest, 'x-slow': 1 } }
    }

    await changeLock(file, slow, muchLater, signal)

    expect(turns).toBe(2)
    expect((await readLock(file))?.rest).toEqual({ 'x-slow': 1 })
    expect(await readdir(folder.path)).toEqual(['skills.lock'])
  })

  test.each(['before', 'in'])(
    'killed %s any call to the file system leaves the old text or the new one',
    async (moment) => {
      await using folder = await temporaryFolder()
      const file = join(folder.path, 'skills.lock')
      const texts = ['0', '1'].map((value) => lockText({ ...EMPTY_LOCK, rest: { 'x-value': value } }))
      await writeFile(file, texts[0] ?? '')

      let kills = 0
      for (let call = 1; ; call += 1) {
        const value = String(call % 2)
        const child = fork(CHILD, [file, value, String(call), moment])
        const [, killed] = await once(child, 'exit')
        expect(texts).toContain(await readFile(file, 'utf8'))
        if (killed !== 'SIGKILL') break
        kills += 1
      }

      expect(kills).toBeGreaterThan(5)
      expect(await readdir(folder.path)).toEqual(['skills.lock'])
    },
  )
})

function mark(value: number): (before: Lock) => Lock {
  return (before) => ({ ...before, rest: { 'x-mark': value } })
}

/** What somebody who takes a draft over does: it is another file then. */
function replaceDraft(file: string): void {
  rmSync(`${file}.new`)
  writeFileSync(`${file}.new`, 'half of anoth')
}

/** The entry of `team` once more at the end, as a merge by line can leave it. */
function twice(whole: string): string {
  const entry = whole.slice(whole.indexOf('    "team"'), whole.lastIndexOf('\n  },'))
  return whole.replace(entry, `${entry},\n${entry}`)
}
