import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contentOf, isUnread } from '../../src/serve/content.ts'
import { mimeTypeOf } from '../../src/serve/mime.ts'
import { CatalogFile } from '../../src/sync/catalog/catalog-file.ts'
import { sample } from '../sync/store/samples.ts'

/** A file as it is listed, whose bytes are these. */
function listed(bytes: Uint8Array): CatalogFile {
  const { skill } = sample('pdf', { 'SKILL.md': 'x' })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const file = { ...skill.files[0]!, size: bytes.length, sha256 }
  return new CatalogFile('skill://team/pdf', skill, file)
}

async function contentFor(bytes: Uint8Array, read = bytes): Promise<unknown> {
  return contentOf(listed(bytes), async () => read)
}

describe('the content of a file', () => {
  test.each([
    ['text', Buffer.from('# Title\n'), { text: '# Title\n' }],
    ['nothing, which is text', Buffer.from(''), { text: '' }],
    ['CRLF', Buffer.from('a\r\nb\r'), { text: 'a\r\nb\r' }],
    ['a byte order mark', Buffer.from('\u{FEFF}a\u{FEFF}'), { text: '\u{FEFF}a\u{FEFF}' }],
    ['a NUL', Buffer.from('a\0b'), { text: 'a\0b' }],
    ['other planes', Buffer.from('\u{1F600}'), { text: '\u{1F600}' }],
    ['a character that stands for a lost one', Buffer.from('\u{FFFD}'), { text: '\u{FFFD}' }],
    ['Latin-1', Buffer.from('caf\u{E9}', 'latin1'), { blob: 'Y2Fm6Q==' }],
    ['half a character at the end', Buffer.from('é').subarray(0, 1), { blob: 'ww==' }],
    ['half of a surrogate pair', Buffer.from('eda080', 'hex'), { blob: '7aCA' }],
  ])('is given without a loss where it has %s', async (_, bytes, expected) => {
    const content = await contentFor(bytes)

    expect(content).toEqual(expected)
  })

  test('is the listed bytes again, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (bytes) => {
        const content = await contentOf(listed(bytes), async () => bytes)

        expect(Buffer.from(JSON.stringify(bytesIn(content)))).toEqual(Buffer.from(JSON.stringify(Buffer.from(bytes))))
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['gone', undefined],
    ['cut short', Buffer.from('conten')],
    ['grown', Buffer.from('content!')],
    ['one bit off', Buffer.from('contdnt')],
    ['empty', Buffer.from('')],
  ])('never leaves where what was read is %s', async (_, read) => {
    const content = await contentOf(listed(Buffer.from('content')), async () => read)

    expect(content).toBeUndefined()
  })

  test('is not said to be damaged while the disk refuses to read it', async () => {
    const content = await contentOf(listed(Buffer.from('content')), async () => 'not-now')

    expect(content).toBe('not-now')
  })
})

test.each([
  ['SKILL.md', 'text/markdown'],
  ['README.MD', 'text/markdown'],
  ['run.sh', 'text/x-shellscript'],
  ['main.ts', 'text/plain'],
  ['Makefile', 'text/plain'],
  ['.gitignore', 'text/plain'],
  ['logo.png', 'image/png'],
  ['a.b.tar.gz', 'application/gzip'],
  ['noextension', 'application/octet-stream'],
  ['ends.', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
  ['__proto__', 'application/octet-stream'],
  ['', 'application/octet-stream'],
])('a file called %j is announced as %s', (name, type) => {
  expect(mimeTypeOf(name)).toBe(type)
})

function bytesIn(content: Awaited<ReturnType<typeof contentOf>>): Buffer | undefined {
  if (isUnread(content)) return undefined
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.blob, 'base64')
}
