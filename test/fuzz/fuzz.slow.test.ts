import { expect, test } from 'vitest'
import { Malformed } from '../../src/base/malformed.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { corpusIn, inputOf } from './corpus.ts'
import { isRefusal, KINDS, readHostile, type TargetKind } from './targets.ts'

test('what is sound is read as it is', async () => {
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

/** Of changed bytes hardly any of a signature, and half of what authors write, can be read. */
const GROUPS = [
  {
    what: 'what git makes',
    kinds: ['pack', 'sha256-pack', 'recipe', 'delta', 'answer', 'report', 'tree'],
    executions: 800,
    least: { read: 50, refused: 300 },
  },
  {
    what: 'what authors write',
    kinds: ['frontmatter', 'markdown', 'marketplace'],
    executions: 600,
    least: { read: 200, refused: 150 },
  },
  {
    what: 'what signers sign and operators trust',
    kinds: ['signed-commit', 'signed-tag', 'ssh-signature', 'openpgp-signature', 'allowed-signers', 'keyring'],
    executions: 600,
    least: { read: 10, refused: 300 },
  },
  {
    what: 'what channels prove',
    kinds: ['log-proof', 'served-proof'],
    executions: 400,
    least: { read: 0, refused: 300 },
  },
  {
    what: 'what packers pack',
    kinds: ['zip', 'tar.gz', 'tar', 'gzip'],
    executions: 600,
    least: { read: 30, refused: 300 },
  },
  {
    what: 'what clients send',
    kinds: ['message', 'modern-message', 'request'],
    executions: 400,
    least: { read: 10, refused: 300 },
  },
  {
    what: 'what agents and people set',
    kinds: ['jsonc', 'toml', 'netrc'],
    executions: 600,
    least: { read: 50, refused: 200 },
  },
  {
    what: 'what clients of git send',
    kinds: ['git-command', 'upload-request'],
    executions: 600,
    least: { read: 30, refused: 300 },
  },
] as const satisfies readonly Group[]

interface Group {
  readonly what: string
  readonly kinds: readonly TargetKind[]
  readonly executions: number
  readonly least: Readonly<Record<'read' | 'refused', number>>
}

const SEED = 20_261_123

test('each kind of input is tried', () => {
  expect(new Set(GROUPS.flatMap(({ kinds }): readonly TargetKind[] => kinds))).toEqual(new Set(KINDS))
})

// `npm run fuzz` does the same for longer, and with other seeds.
test.each(GROUPS)('bytes like $what are read or refused, in little memory', async ({ kinds, executions, least }) => {
  await using folder = await temporaryFolder()
  const corpus = (await corpusIn(folder.path)).filter(({ kind }) => kinds.some((one) => one === kind))
  const outcomes = { read: 0, refused: 0 }
  const before = process.resourceUsage().maxRSS

  for (let execution = 0; execution < executions; execution += 1) {
    const { kind, bytes } = inputOf(corpus, SEED, execution)
    const outcome = await readHostile(kind, bytes, folder.path).catch((cause: unknown) => {
      throw new Error(`Execution ${execution} of seed ${SEED} (${kind}) went wrong`, { cause })
    })
    outcomes[outcome] += 1
  }

  expect(process.resourceUsage().maxRSS - before).toBeLessThan(2 ** 18)
  expect(outcomes.read).toBeGreaterThan(least.read)
  expect(outcomes.refused).toBeGreaterThan(least.refused)
})
