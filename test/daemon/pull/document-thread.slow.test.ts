import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Composer } from 'yaml'
import { DocumentThread } from '../../../src/daemon/pull/document-thread.ts'
import { FRONTMATTER_LIMITS } from '../../../src/sync/skill/frontmatter.ts'
import { documentReading, linkedPathsIn, READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import { hiddenInText } from '../../../src/sync/survey/listing-hidden-text.ts'
import { HEAVY_FRONTMATTERS, documentSaying } from '../../support/content/heavy-frontmatters.ts'
import { turnsDuring } from '../../support/loop-turns.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never } from '../../sync/store/samples.ts'

const LIMITS = { deadlineMs: 60_000, heapMb: 64, waiting: 8 }
const LONG = documentSaying(`# ${'long '.repeat(1000)}`)

/** Answers with what no reading says, but for texts that say what else to do. */
function scriptedBy(head = ''): URL {
  const script = `
    import { parentPort } from 'node:worker_threads'
    import { existsSync, writeFileSync } from 'node:fs'
    ${head}
    parentPort.on('message', ({ bytes, document = bytes }) => {
      const text = Buffer.from(document).toString()
      if (text.includes('spin')) for (;;) {}
      if (text.includes('throw')) throw new Error('a fault')
      if (text.includes('eat')) { const all = []; for (;;) all.push(new Array(1e5).fill(text + all.length)) }
      parentPort.postMessage({ frontmatter: { ok: true, frontmatter: { by: 'the thread' }, bodyStart: 0 }, unrendered: [] })
    })`
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`)
}

test.each(Object.entries(HEAVY_FRONTMATTERS))(
  'the thread reads what this one would, and nothing of it is composed here: %s',
  async (_, lines) => {
    await using reader = new DocumentThread()
    const document = documentSaying(lines)
    const expected = documentReading(document, FRONTMATTER_LIMITS)
    const composing = vi.spyOn(Composer.prototype, 'next')
    onTestFinished(() => composing.mockRestore())

    const reading = await reader.read(document, FRONTMATTER_LIMITS, never())

    expect(reading).toStrictEqual(expected)
    expect(JSON.stringify(reading)).toBe(JSON.stringify(expected))
    expect(composing).not.toHaveBeenCalled()
  },
)

test('the links of a long document are found in the thread as they would be here, and of one that ends it there are none', async () => {
  const text = `---\nname: a\n---\n[a](a.md) [up](../b.md) [again](./a.md#x) ${'long '.repeat(8_000)} [c](c/d%20e.md)\n`
  await using reader = new DocumentThread()
  await using spinning = new DocumentThread({ ...LIMITS, deadlineMs: 100 }, scriptedBy())

  const found = await reader.linkedIn(Buffer.from(text), never())
  const none = await spinning.linkedIn(Buffer.from(`spin ${text}`), never())

  expect(found).toEqual(['a.md', 'c/d e.md'])
  expect(linkedPathsIn(Buffer.from(text))).toEqual(found)
  expect(none).toEqual([])
})

test('whatever the bytes are, the thread says of them what this one would, to the byte', async () => {
  await using reader = new DocumentThread()
  const marks = [
    '---\n',
    '\n',
    '\r\n',
    ' ',
    '  ',
    '\t',
    ':',
    ': ',
    '- ',
    '? ',
    ' #',
    ',',
    '[',
    ']',
    '{',
    '}',
    '|\n',
    '>',
  ]
  const odd = [
    '"',
    "'",
    '\\ud800',
    '\\q',
    '&a',
    '*a',
    '!!x',
    '%A',
    '...',
    '<!-- ',
    '![',
    '\0',
    '\u{E0041}',
    '\u200b',
    'ü',
  ]
  const values = [
    'a',
    'name: ',
    '__proto__: ',
    'constructor: ',
    '10: ',
    '2: ',
    '-0',
    '1e9',
    '.inf',
    '~',
    '9007199254740993',
  ]
  const text = fc.array(fc.constantFrom(...marks, ...odd, ...values), { maxLength: 60 }).map((found) => found.join(''))
  const wild = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes))
  const inner = fc.oneof(
    { weight: 6, arbitrary: text.map((found) => Buffer.from(found)) },
    { weight: 1, arbitrary: wild },
  )
  // Long enough to be handed over.
  const head = Buffer.from(`---\n# ${'x'.repeat(3000)}\n`)
  const document = fc
    .tuple(inner, inner)
    .map(([said, body]) => Buffer.concat([head, said, Buffer.from('\n---\n'), body]))
  const limits = fc.constantFrom(FRONTMATTER_LIMITS, { bytes: 3100, depth: 2 })
  const seen = { read: 0, refused: 0 }

  await fc.assert(
    fc.asyncProperty(document, limits, async (bytes, most) => {
      const [reading, expected] = [await reader.read(bytes, most, never()), await READ_HERE.read(bytes, most, never())]

      seen[expected.frontmatter.ok ? 'read' : 'refused'] += 1
      // By strict equality a key that is called "constructor" would be taken for the class.
      expect(reading).toEqual(expected)
      expect(JSON.stringify(reading)).toBe(JSON.stringify(expected))
    }),
    { numRuns: 1000 },
  )

  expect(Object.values(seen).every((count) => count > 50)).toBe(true)
})

test.each([
  ['SKILL.md', 'a\0\u{202E}'],
  ['a.bin', 'a\0\u{202E}'],
  ['a.md', `${'line\n'.repeat(9_000)}a\u{E0041}`],
  ['a.md', 'ä'.repeat(20_000)],
])('in %s the thread finds the hidden characters that this one would', async (path, text) => {
  await using reader = new DocumentThread()
  const short = Buffer.from(text)
  const long = Buffer.from(`${text}${' '.repeat(20_000)}`)

  const found = [await reader.hiddenIn(path, short, never()), await reader.hiddenIn(path, long, never())]

  expect(found).toStrictEqual([hiddenInText({ path }, short), hiddenInText({ path }, long)])
})

test('while a large text is searched for hidden characters, this thread goes on', async () => {
  await using reader = new DocumentThread()
  // The worst that 4 MiB can hold: it takes a second.
  const bytes = Buffer.alloc(2 ** 22, '\u{1B}')

  const searching = reader.hiddenIn('a.md', bytes, never())
  const turns = await turnsDuring(searching)

  expect(await searching).toMatchObject({ count: 10_000, deceit: 'disguised' })
  expect(turns).toBeGreaterThan(100)
})

test('a text over which the thread takes too long is not taken for one that hides nothing', async () => {
  await using reader = new DocumentThread({ ...LIMITS, deadlineMs: 300 }, scriptedBy())

  const searching = reader.hiddenIn('a.md', Buffer.alloc(20_000, 'spin'), never())

  await expect(searching).rejects.toMatchObject({ code: 'limit-exceeded', message: expect.stringContaining('"a.md"') })
})

test('what is quick to read is handed to no thread', async () => {
  await using reader = new DocumentThread(LIMITS, scriptedBy())

  const [short, long] = [
    documentSaying('license: MIT'),
    Buffer.concat([documentSaying('license: MIT'), Buffer.alloc(70_000, 'a ')]),
  ]
  const readings = [short, LONG, long].map((document) => reader.read(document, FRONTMATTER_LIMITS, never()))

  const [first, ...others] = (await Promise.all(readings)).map(({ frontmatter }) => frontmatter)
  expect(first).toMatchObject({ frontmatter: { license: 'MIT' } })
  expect(others).toMatchObject(Array.from({ length: 2 }, () => ({ frontmatter: { by: 'the thread' } })))
})

test.each([
  ['takes too long', 'spin', 300],
  ['fails', 'throw', 60_000],
  ['takes too much', 'eat', 60_000],
])(
  'a document over which the thread %s is refused alone, and those beside it are read',
  async (_, what, deadlineMs) => {
    await using reader = new DocumentThread({ ...LIMITS, deadlineMs }, scriptedBy())
    const heavy = documentSaying(`# ${what} ${'long '.repeat(1000)}`)

    const refused = await reader.read(heavy, FRONTMATTER_LIMITS, never())
    const beside = await reader.read(documentSaying('license: MIT'), FRONTMATTER_LIMITS, never())

    expect(refused.frontmatter).toMatchObject({ ok: false, rule: 'frontmatter-too-large', isUnfinished: true })
    expect(beside.frontmatter).toMatchObject({ frontmatter: { license: 'MIT' } })
  },
)

test('a thread that ended once, as after a pause of the machine, reads the document at the second attempt', async () => {
  await using folder = await temporaryFolder()
  const mark = join(folder.path, 'began')
  const head = `if (!existsSync('${mark}')) { writeFileSync('${mark}', ''); process.exit(1) }`
  await using reader = new DocumentThread(LIMITS, scriptedBy(head))

  const reading = await reader.read(LONG, FRONTMATTER_LIMITS, never())

  expect(existsSync(mark)).toBe(true)
  expect(reading.frontmatter).toMatchObject({ frontmatter: { by: 'the thread' } })
})

test('where no thread takes the document it is read here, to the same end', async () => {
  await using reader = new DocumentThread({ ...LIMITS, waiting: 0 }, scriptedBy())
  const document = documentSaying(HEAVY_FRONTMATTERS['stray braces'])

  const reading = await reader.read(document, FRONTMATTER_LIMITS, never())

  expect(reading).toStrictEqual(documentReading(document, FRONTMATTER_LIMITS))
})

test('an abort ends the waiting for a document that the thread is over', async () => {
  await using reader = new DocumentThread(LIMITS, scriptedBy())
  const stop = new AbortController()
  const spinning = documentSaying(`# spin ${'long '.repeat(1000)}`)

  const reading = reader.read(spinning, FRONTMATTER_LIMITS, stop.signal)
  stop.abort(new Error('enough'))

  await expect(reading).rejects.toThrow('enough')
})
