import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { addCheckpointBody, parseAddCheckpoint } from '../../../../src/features/channel/witness/add-checkpoint.ts'
import { CosignedLogs } from '../../../../src/features/channel/witness/cosigned-logs.ts'
import { Witness } from '../../../../src/features/channel/witness/witness.ts'
import { openState } from '../../../../src/sync/store/files/state-folder.ts'
import { openCheckpoint, signCheckpoint } from '../../../../src/sync/transparency-log/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../../src/sync/transparency-log/checkpoint.ts'
import { LogHashes } from '../../../../src/sync/transparency-log/log-hashes.ts'
import { consistencyProof, isSameHash, treeRoot } from '../../../../src/sync/transparency-log/merkle-tree.ts'
import { signerOf } from '../../../../src/sync/transparency-log/signed-note.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { ORIGIN, SIGNER } from '../follow/site.ts'

const KEY = signerOf('witness.example.com', Buffer.alloc(32, 200), 'cosignature')
const MOST = 24

/** Logs that begin alike: the log of this number has other entries from there on. */
const LOGS = [MOST, 0, 3, 8, 9, 17].map((fork, number) => {
  const hashes = new LogHashes()
  for (let index = 0; index < MOST; index += 1) hashes.append(Buffer.from(`${index < fork ? 0 : number} ${index}`))
  return hashes
})

/** A request of the holder of the key for one of the logs. The proof may be that of another, or of other sizes. */
interface Attempt {
  readonly log: number
  readonly proofOf: number
  readonly size: number
  /** The size of the witness is known to all; an attempt may name another. */
  readonly claims: number | undefined
}

const ATTEMPT: fc.Arbitrary<Attempt> = fc.record({
  log: fc.nat(LOGS.length - 1),
  proofOf: fc.nat(LOGS.length - 1),
  size: fc.integer({ min: 1, max: MOST }),
  claims: fc.option(fc.nat(MOST), { nil: undefined, freq: 4 }),
})

async function bodyOf({ log, proofOf, size, claims }: Attempt, cosigned: number): Promise<string> {
  const oldSize = claims ?? cosigned
  const root = await treeRoot(size, LOGS[log]!.read)
  const proof = oldSize > size ? [] : await consistencyProof(oldSize, size, LOGS[proofOf]!.read)
  return addCheckpointBody({ oldSize, proof, note: signCheckpoint({ origin: ORIGIN, size, root }, [SIGNER]) })
}

test('whatever the holder of the key asks for, all that is cosigned is of one log, and never gets shorter', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ATTEMPT, { minLength: 1, maxLength: 12 }), fc.boolean(), async (attempts, isAtOnce) => {
      await using folder = await temporaryFolder()
      const state = await openState(folder.path)
      const open = (): Witness =>
        new Witness({ key: KEY, logKeys: [SIGNER], cosigned: new CosignedLogs(state, KEY), clock: systemClock })
      const cosigned: OpenedCheckpoint[] = []
      const witness = open()
      const make = async (attempt: Attempt): Promise<void> => {
        const body = await bodyOf(attempt, cosigned.at(-1)?.size ?? 0)
        // Each request may meet a witness that was restarted.
        const answer = await (isAtOnce ? witness : open()).add(body)
        if (answer.status !== 200) return
        const { note } = parseAddCheckpoint(body)!
        cosigned.push(openCheckpoint(note + answer.body, ORIGIN, [SIGNER, KEY]))
      }
      if (isAtOnce) await Promise.all(attempts.map(make))
      else for (const attempt of attempts) await make(attempt)

      const sizes = cosigned.map(({ size }) => size)
      // The answers to requests at once may arrive in any order.
      const isInOrder = sizes.every((size, index) => index === 0 || size >= (sizes[index - 1] ?? 0))
      expect(isAtOnce || isInOrder).toBe(true)
      const isOfOneLog = await Promise.all(
        LOGS.map(async ({ read }) => {
          const roots = await Promise.all(
            cosigned.map(async ({ size, root }) => isSameHash(await treeRoot(size, read), root)),
          )
          return roots.every(Boolean)
        }),
      )
      expect(isOfOneLog).toContain(true)
    }),
    { numRuns: 150 },
  )
})

test('an honest hub is cosigned at every size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: MOST }), { minLength: 1 }), async (sizes) => {
      await using folder = await temporaryFolder()
      const cosigned = new CosignedLogs(await openState(folder.path), KEY)
      const witness = new Witness({ key: KEY, logKeys: [SIGNER], cosigned, clock: systemClock })
      let last = 0
      for (const size of sizes.toSorted((a, b) => a - b)) {
        const body = await bodyOf({ log: 0, proofOf: 0, size, claims: undefined }, last)
        expect((await witness.add(body)).status).toBe(200)
        last = size
      }
      expect((await cosigned.read(ORIGIN))?.size).toBe(last)
    }),
    { numRuns: 50 },
  )
})

test('a request is what was written, and any other text is refused or written back as it was', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const note = fc.string({ minLength: 1 }).map((text) => `x${text}`)
  fc.assert(
    fc.property(fc.nat(), fc.array(hash, { maxLength: 63 }), note, (oldSize, proof, text) => {
      const body = addCheckpointBody({ oldSize, proof, note: text })
      expect(parseAddCheckpoint(body)).toEqual({ oldSize, proof: proof.map((one) => Buffer.from(one)), note: text })
    }),
  )
  const word = fc.constantFrom('old ', '0', '1', '9'.repeat(17), '\n', '\n\n', 'A'.repeat(43), '=', ' ', 'x', '\r', '+')
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const body = words.join('')
      const parsed = parseAddCheckpoint(body)
      expect(parsed === undefined ? body : addCheckpointBody(parsed)).toBe(body)
    }),
  )
})
