import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { corpusIn, inputOf } from './corpus.ts'
import { readHostile, type TargetKind } from './targets.ts'

const KINDS: readonly TargetKind[] = ['pack', 'sha256-pack', 'recipe', 'delta', 'answer', 'tree']

test('what git makes is read as it is', async () => {
  await using folder = await temporaryFolder()

  const corpus = await corpusIn(folder.path)

  expect(new Set(corpus.map(({ kind }) => kind))).toEqual(new Set(KINDS))
  for (const { kind, bytes } of corpus) expect(await readHostile(kind, bytes, folder.path)).toBe('read')
})

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
