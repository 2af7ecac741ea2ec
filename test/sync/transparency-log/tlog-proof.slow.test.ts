import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { signCheckpoint } from '../../../src/sync/transparency-log/checkpoint.ts'
import { LogHashes } from '../../../src/sync/transparency-log/log-hashes.ts'
import { inclusionProof, treeRoot } from '../../../src/sync/transparency-log/merkle-tree.ts'
import { signerOf } from '../../../src/sync/transparency-log/signed-note.ts'
import { encodeProof, openProof, parseProof, ProofRefusedError } from '../../../src/sync/transparency-log/tlog-proof.ts'

const ORIGIN = 'log.example/one'
const SIGNER = signerOf(ORIGIN, Buffer.alloc(32, 1))
const OTHER = signerOf(ORIGIN, Buffer.alloc(32, 2))
const SIZES = [...Array.from({ length: 34 }, (_, index) => index + 1), 63, 64, 65, 100, 127, 128, 129, 255, 256, 257]

const entry = (index: number): Uint8Array => Buffer.from(`entry ${index}`)

async function logOf(size: number): Promise<{ readonly log: LogHashes; readonly checkpoint: string }> {
  const log = new LogHashes()
  for (let index = 0; index < size; index += 1) log.append(entry(index))
  const root = await treeRoot(size, log.read)
  return { log, checkpoint: signCheckpoint({ origin: ORIGIN, size, root }, [SIGNER]) }
}

async function proofOf(index: number, size: number): Promise<string> {
  const { log, checkpoint } = await logOf(size)
  return encodeProof({ index, hashes: await inclusionProof(index, size, log.read), checkpoint, extra: entry(index) })
}

test('the proof of each entry of a log is accepted as text, and shows no other entry', async () => {
  for (const size of SIZES) {
    const { log, checkpoint } = await logOf(size)
    for (let index = 0; index < size; index += 1) {
      const hashes = await inclusionProof(index, size, log.read)
      const text = encodeProof({ index, hashes, checkpoint })
      const proof = parseProof(text)
      expect(encodeProof(proof)).toBe(text)
      expect(openProof(proof, entry(index), ORIGIN, [OTHER, SIGNER])).toMatchObject({ size, signers: [SIGNER] })
      expect(() => openProof(proof, entry(index + 1), ORIGIN, [SIGNER])).toThrow(ProofRefusedError)
      expect(() => openProof({ ...proof, index: index + 1 }, entry(index), ORIGIN, [SIGNER])).toThrow(ProofRefusedError)
    }
  }
})

test('the example of c2sp.org/tlog-proof is read, up to its shortened checkpoint', () => {
  const lines = [
    'c2sp.org/tlog-proof@v1',
    'extra YWdlLXYxLjIuMS1kYXJ3aW4tYXJtNjQudGFyLmd6kYXJ3aW4tYXJ',
    'index 73894',
    'gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=',
    'B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=',
    'EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=',
    'RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=',
    'AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=',
  ]
  const checkpoint =
    'example.com/fancylog\n109482\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n— example.com/fancylog hI2DJw==\n'

  const proof = parseProof(`${lines.join('\n')}\n\n${checkpoint}`)

  expect(proof).toMatchObject({ index: 73_894, hashes: { length: 5 }, checkpoint })
  expect(Buffer.from(proof.extra ?? []).toString('latin1')).toMatch(/^age-v1\.2\.1-darwin-arm64\.tar\.gz/)
  expect(encodeProof(proof)).toBe(`${lines.join('\n')}\n\n${checkpoint}`)
})

test.each([
  ['another first line', (text: string) => text.replace('@v1', '@v2')],
  ['carriage returns', (text: string) => text.replaceAll('\n', '\r\n')],
  ['no index', (text: string) => text.replace(/^index .*\n/m, '')],
  ['an index with a zero before it', (text: string) => text.replace('index 5', 'index 05')],
  ['an index that is no safe integer', (text: string) => text.replace('index 5', 'index 9007199254740992')],
  ['extra data twice', (text: string) => text.replace(/^(extra .*\n)/m, '$1$1')],
  ['extra data that is no base64', (text: string) => text.replace(/^extra /m, 'extra *')],
  ['empty extra data', (text: string) => text.replace(/^extra .*$/m, 'extra ')],
  ['a hash that is too short', (text: string) => text.replace('\n\n', '\nAAAA\n\n')],
  ['a hash more', (text: string) => text.replace('\n\n', `\n${Buffer.alloc(32).toString('base64')}\n\n`)],
  ['a hash less', (text: string) => text.replace(/\n[^\n]+\n\n/, '\n\n')],
  ['a hash without its padding', (text: string) => text.replace('=\n\n', '\n\n')],
  ['too many hashes', (text: string) => text.replace('\n\n', `${`\n${'A'.repeat(43)}=`.repeat(54)}\n\n`)],
  ['no checkpoint', (text: string) => text.slice(0, text.indexOf('\n\n') + 2)],
  ['the checkpoint of another size', (text: string) => text.replace('\n11\n', '\n12\n')],
  ['no signature', (text: string) => text.slice(0, text.lastIndexOf('\n\n') + 2)],
  ['far too many characters', (text: string) => text + 'A'.repeat(2 ** 17)],
])('a proof with %s is refused', async (_, change) => {
  const text = await proofOf(5, 11)
  const open = (proof: string) => openProof(parseProof(proof), entry(5), ORIGIN, [SIGNER])
  expect(open(text).size).toBe(11)

  expect(change(text)).not.toBe(text)
  expect(() => open(change(text))).toThrow(ProofRefusedError)
})

test('a proof of another key or of another log is refused', async () => {
  const proof = parseProof(await proofOf(5, 11))

  expect(() => openProof(proof, entry(5), ORIGIN, [OTHER])).toThrow('no known key has signed it')
  expect(() => openProof(proof, entry(5), 'log.example/two', [SIGNER])).toThrow('it is of the log')
})

test('no proof with one changed character is accepted as another proof', async () => {
  const text = await proofOf(5, 11)
  const before = parseProof(text)
  const accepted = (changed: string): unknown => {
    try {
      const proof = parseProof(changed)
      openProof(proof, entry(5), ORIGIN, [SIGNER])
      return proof
    } catch (error) {
      if (!(error instanceof ProofRefusedError)) throw error
      return before
    }
  }
  const character = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 })
  fc.assert(
    fc.property(fc.nat(text.length - 1), character, (at, by) => {
      // The extra data is not signed.
      expect(accepted(text.slice(0, at) + by + text.slice(at + 1))).toEqual({ ...before, extra: expect.anything() })
    }),
  )
})
