import { describe, expect, test } from 'vitest'
import { Malformed } from '../../../../src/base/malformed.ts'
import { MOST_LINES, readCommand, readUploadRequest } from '../../../../src/features/marketplace/git/fetch-request.ts'

const HAVE = line(`have ${'a'.repeat(40)}`)
const FETCH = `${line('command=fetch')}0001`

/** The body, with the number of texts that were made of it. */
function counted(text: string): { readonly body: Buffer; readonly texts: () => number } {
  const body = Buffer.from(text)
  let texts = 0
  body.toString = (...args) => {
    texts += 1
    return Buffer.prototype.toString.apply(body, args)
  }
  return { body, texts: () => texts }
}

describe('a request of git is read no further than', () => {
  test.each([
    ['an empty line', '0005\n'.repeat(800_000), 2],
    ['an empty line as an argument', FETCH + '0005\n'.repeat(800_000), 6],
    ['an unknown argument', FETCH + line('filter blob:none') + HAVE.repeat(20_000), 6],
    ['an unknown command', `${line('command=x')}0001${HAVE.repeat(20_000)}`, 6],
    ['the most lines, if they are flushes', '0000'.repeat(900_000), MOST_LINES],
    ['the most lines, if they are delimiters', '0001'.repeat(900_000), MOST_LINES],
    [
      'the most lines, if they are prefixes',
      `${line('command=ls-refs')}0001${line('ref-prefix x').repeat(200_000)}`,
      2 * MOST_LINES,
    ],
    ['the most lines, if they are haves', FETCH + HAVE.repeat(80_000), 2 * MOST_LINES],
    ['the most lines, if they are capabilities', line('agent=x').repeat(80_000), 2 * MOST_LINES],
  ])('%s', (_, text, most) => {
    const { body, texts } = counted(text)

    expect(() => readCommand(body)).toThrow(Malformed)

    expect(texts()).toBeLessThanOrEqual(most)
  })

  test.each([
    ['an empty line', '0005\n'.repeat(800_000), 2],
    ['a line that is none', line(`want ${'a'.repeat(40)} ofs-delta`) + '0005\n'.repeat(800_000), 4],
    ['the most lines', '0000'.repeat(900_000), MOST_LINES],
  ])('%s, in the versions before', (_, text, most) => {
    const { body, texts } = counted(text)

    expect(() => readUploadRequest(body)).toThrow(Malformed)

    expect(texts()).toBeLessThanOrEqual(most)
  })
})

test('as many haves as a client sends at most are read', () => {
  const { haves } = readUploadRequest(
    Buffer.from(`${line(`want ${'a'.repeat(40)} x`)}0000${HAVE.repeat(20_000)}${line('done')}`),
  )

  expect(haves).toHaveLength(20_000)
})

function line(text: string): string {
  return `${(text.length + 5).toString(16).padStart(4, '0')}${text}\n`
}
