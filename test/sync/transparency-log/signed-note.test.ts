import { expect, test } from 'vitest'
import {
  NoteRefusedError,
  openNote,
  parseVerifier,
  signNote,
  signerOf,
  verifierText,
} from '../../../src/sync/transparency-log/signed-note.ts'

const ADA = signerOf('log.example.com/ada', Buffer.alloc(32, 1))
const BOB = signerOf('log.example.com/bob', Buffer.alloc(32, 2))

/** The example of golang.org/x/mod/sumdb/note. */
const PETER_KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const PETER_NOTE = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`

test('a note of another implementation is opened with its key', () => {
  const key = parseVerifier(PETER_KEY)

  expect(openNote(PETER_NOTE, [key!])).toEqual({ text: PETER_NOTE.slice(0, 99), signers: [key] })
  expect(verifierText(key!)).toBe(PETER_KEY)
})

test('a note with several signatures is opened by any of the keys, and names those that are known', () => {
  const note = signNote('one\n\ntwo\n', [ADA, BOB])

  expect(openNote(note, [BOB])).toEqual({ text: 'one\n\ntwo\n', signers: [BOB] })
  expect(openNote(note, [BOB, ADA]).signers.map(({ name }) => name)).toEqual([ADA.name, BOB.name])
})

test('a key of the same name with another id is unknown', () => {
  const other = signerOf(ADA.name, Buffer.alloc(32, 3))

  expect(() => openNote(signNote('one\n', [other]), [ADA])).toThrow('no known key has signed it')
})

test('a signature of a known key that is invalid refuses the note, whatever else has signed it', () => {
  const note = signNote('one\n', [ADA, BOB])

  expect(() => openNote(note.replace('one', 'two'), [ADA, BOB])).toThrow(/the signature of the key ".*ada" is invalid/)
  expect(() => openNote(note.replace(/(ada \S{20})./, '$1A'), [ADA, BOB])).toThrow('is invalid')
})

test.each([
  ['no signature', 'one\n', /no signatures/],
  ['no blank line', `one\n\u2014 a b\n`, /no signatures/],
  ['no signature line', 'one\n\nsigned by ada\n', /a line that is no signature/],
  ['a signature that is no base64', 'one\n\n\u2014 ada =\n', /a line that is no signature/],
  ['a signature of four bytes', 'one\n\n\u2014 ada AAAAAA==\n', /a line that is no signature/],
  ['a name with a plus', 'one\n\n\u2014 a+b AAAAAAA=\n', /a line that is no signature/],
  ['a control character', 'one\r\n\n\u2014 ada AAAAAAA=\n', /the wrong form/],
  ['no line break at its end', `${signNote('one\n', [ADA])}\u2014 ada`, /the wrong form/],
  ['a million characters', `${'x'.repeat(1_000_000)}\n\n\u2014 ada AAAAAAA=\n`, /over 65536 characters/],
])('a note with %s is refused', (_, note, why) => {
  expect(() => openNote(note, [ADA])).toThrow(NoteRefusedError)
  expect(() => openNote(note, [ADA])).toThrow(why)
})

test.each([
  PETER_KEY.replace('c74f20a3', 'c74f20a4'),
  PETER_KEY.replace('+ARpc', '+BRpc'),
  PETER_KEY.slice(0, -4),
  PETER_KEY.replace('Peter', 'Pe ter'),
  'PeterNeumann',
  '',
])('%j is no public key of a note', (text) => {
  expect(parseVerifier(text)).toBeUndefined()
})
