import { expect, test } from 'vitest'
import { skill } from '../e2e/world.ts'
import { memoryOf } from '../support/effort.ts'
import type { RawEntry, Repository } from '../support/git/repository.ts'
import { Scene } from './scene.ts'

test('a commit with a name that no folder can hold is refused whole, and the next good one is taken', async () => {
  await using scene = await Scene.set()
  await scene.play()
  const { repository } = scene
  const id = await repository.blob('x')
  const named = (name: string): RawEntry => ({ mode: '100644', name, id })
  const hostile = ['..', '.', '.git', '.GIT', 'git~1', 'a/b'].map((name) => ['content-refused', [named(name)]] as const)
  const twice = ['content-refused', [named('twice'), named('twice')]] as const
  // git itself does not get past it, and says so in place of a pack.
  const nameless = ['source-unreachable', [named('')]] as const

  for (const [code, entries] of [...hostile, twice, nameless]) {
    const good = await repository.git('rev-parse', 'main')
    await commitWith(repository, entries)
    await scene.problem(code)
    await scene.witness.looksAgain()
    expect(await servedBy(scene)).toEqual(['skill://team/moving/SKILL.md', 'skill://team/still/SKILL.md'])

    await repository.setRef('refs/heads/main', good)
    await scene.recovers()
  }

  await scene.expectWell()
})

test('a commit that names a hundred million files in eight small trees is refused, within bounds', async () => {
  await using scene = await Scene.set()
  await scene.play()
  const { repository } = scene
  const good = await repository.git('rev-parse', 'main')
  let id = await repository.blob('x')
  for (let level = 0; level < 8; level += 1) {
    const mode = level === 0 ? '100644' : '40000'
    id = await repository.rawTree(Array.from({ length: 10 }, (_, index) => ({ mode, name: `n${index}`, id })))
  }

  await repository.commitTree(id)
  await scene.problem('limit-exceeded')
  await scene.witness.looksAgain()
  await repository.setRef('refs/heads/main', good)

  expect((await memoryOf(scene.daemon.pid)).most).toBeLessThan(MOST_BYTES)
  await scene.recovers()
  await scene.expectWell()
})

test.each([
  ['that can leave files out', true],
  ['that sends all of them', false],
])(
  '55: 256 MiB of zeros in a small pack of a server %s are withheld, and their siblings are served',
  async (_, filter) => {
    await using scene = await Scene.set([], [PATIENT])
    await scene.repository.git('config', 'uploadpack.allowFilter', String(filter))
    await scene.play()
    const { repository } = scene

    const zeros = await repository.blob(Buffer.alloc(256 * 2 ** 20))
    const file = { mode: '100644', name: 'zeros.bin', id: zeros }
    await commitWith(repository, [file], { 'moving/SKILL.md': skill('moving', 'beside a bomb') })
    await scene.updated('team', await repository.git('rev-parse', 'main'))
    await scene.witness.looksAgain()

    expect(await servedBy(scene)).toEqual(['skill://team/moving/SKILL.md', 'skill://team/still/SKILL.md'])
    expect(await findingsOf(scene)).toEqual([
      expect.objectContaining({ state: 'withheld', reasons: [expect.objectContaining({ code: 'limit-bytes' })] }),
    ])
    await scene.recovers()
    expect((await memoryOf(scene.daemon.pid)).most).toBeLessThan(MOST_BYTES)
    await scene.expectWell()
  },
)

test('a SKILL.md of 256 MiB of zeros is withheld, and its siblings are served', async () => {
  await using scene = await Scene.set([], [PATIENT])
  await scene.play()
  const { repository } = scene

  const zeros = await repository.blob(Buffer.alloc(256 * 2 ** 20))
  const document = await repository.rawTree([{ mode: '100644', name: 'SKILL.md', id: zeros }])
  await repository.commitTree(
    await repository.rawTree([{ mode: '40000', name: 'bad', id: document }, ...(await rest(repository))]),
  )
  await scene.updated('team', await repository.git('rev-parse', 'main'))
  await scene.witness.looksAgain()

  expect(await servedBy(scene)).toEqual(['skill://team/moving/SKILL.md', 'skill://team/still/SKILL.md'])
  await scene.recovers()
  expect((await memoryOf(scene.daemon.pid)).most).toBeLessThan(MOST_BYTES)
  await scene.expectWell()
})

/** To pack so much takes the server its time, and it sends nothing before it has all of it. */
const PATIENT = 'limits: { fetch: { connect_timeout: 1h } }'

/** What the daemon may take up at its most. */
const MOST_BYTES = 300_000_000

/** A commit whose folder `bad` is a skill with these entries besides; the other folders are as they were. */
async function commitWith(repository: Repository, entries: readonly RawEntry[], files = {}): Promise<void> {
  if (Object.keys(files).length > 0) await repository.commit(files)
  const document = await repository.blob(skill('bad', 'bad'))
  const bad = await repository.rawTree([{ mode: '100644', name: 'SKILL.md', id: document }, ...entries])
  await repository.commitTree(
    await repository.rawTree([{ mode: '40000', name: 'bad', id: bad }, ...(await rest(repository))]),
  )
}

/** The folders of a scene, as they are in its repository. */
async function rest(repository: Repository): Promise<readonly RawEntry[]> {
  const entries = ['moving', 'still'].map(async (name) => {
    return { mode: '40000', name, id: await repository.git('rev-parse', `main:${name}`) }
  })
  return Promise.all(entries)
}

async function servedBy(scene: Scene): Promise<readonly string[]> {
  const { stdout } = await scene.home.command('list', '--served', '--json')
  return JSON.parse(stdout).skills.map(({ uri }: { readonly uri: string }) => uri)
}

async function findingsOf(scene: Scene): Promise<readonly unknown[]> {
  const { stdout } = await scene.home.command('status', '--json')
  return JSON.parse(stdout).sources[0].verdicts
}
