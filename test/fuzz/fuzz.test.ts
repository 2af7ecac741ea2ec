import { expect, test } from 'vitest'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { Malformed } from '../../src/sync/upstream/malformed.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { corpusIn, inputOf } from './corpus.ts'
import { isRefusal, readHostile, type TargetKind } from './targets.ts'

const KINDS: readonly TargetKind[] = ['pack', 'sha256-pack', 'recipe', 'delta', 'answer', 'tree']

test('what git makes is read as it is', async () => {
  await using folder = await temporaryFolder()

  const corpus = await corpusIn(folder.path)

  expect(new Set(corpus.map(({ kind }) => kind))).toEqual(new Set(KINDS))
  for (const { kind, bytes } of corpus) expect(await readHostile(kind, bytes, folder.path)).toBe('read')
})

test.each([
  ['of ours', new Malformed('the delta ends early'), true, true],
  ['of zlib', Object.assign(new Error('incorrect header check'), { code: 'Z_DATA_ERROR' }), false, true],
  ['of the engine', new RangeError('Invalid array length'), false, false],
  ['of the disk', Object.assign(new Error('no such file'), { code: 'ENOENT' }), false, false],
])(
  'an error %s is a refusal only if the bytes are at fault, alone and as the cause of another',
  (_, error, alone, asCause) => {
    expect(isRefusal(error)).toBe(alone)
    expect(isRefusal(new SyncError('source-unreachable', 'Cannot read', { cause: error }))).toBe(asCause)
  },
)

// `npm run fuzz` does the same for longer, and with other seeds.
test('what is nearly what git makes is read or refused, in little memory', async () => {
  await using folder = await temporaryFolder()
  const corpus = await corpusIn(folder.path)
  const outcomes = { read: 0, refused: 0 }
  const before = process.resourceUsage().maxRSS

  for (let execution = 0; execution < 800; execution += 1) {
    const { kind, bytes } = inputOf(corpus, 20_261_123, execution)
    const outcome = await readHostile(kind, bytes, folder.path).catch((cause: unknown) => {
      throw new Error(`Execution ${execution} (${kind}) went wrong`, { cause })
    })
    outcomes[outcome] += 1
  }

  expect(process.resourceUsage().maxRSS - before).toBeLessThan(2 ** 18)
  expect(outcomes.read).toBeGreaterThan(50)
  expect(outcomes.refused).toBeGreaterThan(300)
})
