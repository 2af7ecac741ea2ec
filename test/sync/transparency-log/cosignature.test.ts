import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openCheckpoint, signCheckpoint } from '../../../src/sync/transparency-log/checkpoint.ts'
import { EMPTY_ROOT } from '../../../src/sync/transparency-log/merkle-tree.ts'
import {
  cosignatureLine,
  signatureLines,
  NoteRefusedError,
  openNote,
  parseSigner,
  parseVerifier,
  signerOf,
  signerText,
  signNote,
  verifierText,
} from '../../../src/sync/transparency-log/signed-note.ts'

const LOG = signerOf('log.example.com', Buffer.alloc(32, 1))
const WITNESS = signerOf('witness.example.com/w1', Buffer.alloc(32, 2), 'cosignature')
const AT = new Date('2026-06-15T12:00:00Z')
const NOTE = signCheckpoint({ origin: LOG.name, size: 0, root: EMPTY_ROOT }, [LOG])
const TEXT = `log.example.com\n0\n${EMPTY_ROOT.toString('base64')}\n`
const COSIGNED = NOTE + cosignatureLine(TEXT, WITNESS, AT)

test('the key of a public witness has the id that its operator has published', () => {
  const text = 'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2'

  expect(verifierText(parseVerifier(text, 'cosignature')!)).toBe(text)
})

test('a key of one type is none of the other, and has another id', () => {
  const [log, witness] = [verifierText({ ...LOG }), verifierText({ ...WITNESS })]

  expect(parseVerifier(log, 'cosignature')).toBeUndefined()
  expect(parseVerifier(witness)).toBeUndefined()
  expect(signerOf('a', Buffer.alloc(32, 1)).id).not.toBe(signerOf('a', Buffer.alloc(32, 1), 'cosignature').id)
  const secret = signerText(WITNESS, Buffer.alloc(32, 2))
  expect(parseSigner(secret)).toBeUndefined()
  expect(verifierText(parseSigner(secret, 'cosignature')!)).toBe(witness)
})

test('a cosignature is that of the time and of the whole text, as the specification has it', () => {
  const line = cosignatureLine('example.com/behind-the-sofa\n1\n', WITNESS, new Date(1_679_315_147_999))

  const bytes = Buffer.from(line.trimEnd().split(' ')[2]!, 'base64')
  expect(line).toMatch(/^\u2014 witness\.example\.com\/w1 \S+\n$/)
  expect(bytes.length).toBe(4 + 8 + 64)
  expect([bytes.readUInt32BE(), bytes.readBigUInt64BE(4)]).toEqual([WITNESS.id, 1_679_315_147n])
  // Ed25519 is deterministic: the same message, signed as a note, has the same signature.
  const plain = signNote('cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n1\n', [
    { ...signerOf('any', Buffer.alloc(32, 2)) },
  ])
  const signature = Buffer.from(plain.trimEnd().split(' ').at(-1)!, 'base64').subarray(4)
  expect(bytes.subarray(12)).toEqual(signature)
})

test('a checkpoint names the keys of its log apart from those of its witnesses', () => {
  const opened = openCheckpoint(COSIGNED, LOG.name, [LOG, WITNESS])

  expect(opened).toMatchObject({ size: 0, text: TEXT, signers: [LOG], cosigners: [WITNESS] })
  expect(openCheckpoint(COSIGNED, LOG.name, [LOG]).cosigners).toEqual([])
  expect([...signatureLines(COSIGNED, [WITNESS]).values()]).toEqual([COSIGNED.slice(NOTE.length)])
})

test('a witness does not stand for the log', () => {
  const other = signerOf(LOG.name, Buffer.alloc(32, 9))

  expect(() => openCheckpoint(COSIGNED, LOG.name, [other, WITNESS])).toThrow('no known key of the log has signed it')
})

test('a witness that is named twice in one note counts once', () => {
  const again = COSIGNED + cosignatureLine(TEXT, WITNESS, new Date(AT.getTime() + 1_000))

  expect(openCheckpoint(again, LOG.name, [LOG, WITNESS]).cosigners).toEqual([WITNESS])
})

test('every key opens what it cosigned at any time, and no other text, time or key does', () => {
  const text = fc.stringMatching(/^[a-z./]{1,20}\n\d{1,9}\n[A-Za-z\d+/]{43}=\n$/)
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const seconds = fc.integer({ min: 1, max: 8_640_000_000_000 })
  fc.assert(
    fc.property(text, seed, seconds, fc.nat(7), (body, bytes, at, byte) => {
      const signer = signerOf('w', bytes, 'cosignature')
      const line = cosignatureLine(body, signer, new Date(at * 1_000))
      expect(openNote(`${body}\n${line}`, [signer])).toEqual({ text: body, signers: [signer] })
      expect(() => openNote(`x${body}\n${line}`, [signer])).toThrow(NoteRefusedError)
      const payload = Buffer.from(line.trimEnd().split(' ')[2]!, 'base64')
      payload.writeUInt8(payload.readUInt8(4 + byte) ^ 1, 4 + byte)
      expect(() => openNote(`${body}\n\u2014 w ${payload.toString('base64')}\n`, [signer])).toThrow('is invalid')
    }),
  )
})

test.each([
  ['without a time', () => cosignatureLine(TEXT, WITNESS, new Date(0))],
  ['that is too short', () => lineWith((bytes) => bytes.subarray(0, -1))],
  ['that is too long', () => lineWith((bytes) => Buffer.concat([bytes, Buffer.of(0)]))],
  ['with a time after 2^63 - 1', () => lineWith((bytes) => (bytes.writeUInt8(0x80, 4), bytes))],
  ['that is of the text alone', () => lineWith((bytes) => bytes.subarray(0, 12 + 8))],
])('a cosignature %s is refused', (_, line) => {
  expect(() => openCheckpoint(NOTE + line(), LOG.name, [LOG, WITNESS])).toThrow('is invalid')
})

test('a key signs in its own way alone', () => {
  expect(() => signNote(TEXT, [WITNESS])).toThrow(TypeError)
  expect(() => cosignatureLine(TEXT, LOG, AT)).toThrow(TypeError)
})

function lineWith(change: (bytes: Buffer) => Buffer): string {
  const payload = Buffer.from(cosignatureLine(TEXT, WITNESS, AT).trimEnd().split(' ')[2]!, 'base64')
  return `\u2014 ${WITNESS.name} ${change(payload).toString('base64')}\n`
}
