import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { authoredDocument } from '../../../../src/sync/upstream/folder/read-authored.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { objectId } from '../reached.ts'
import { ABSENT } from '../sample.ts'

const A = { path: 'a', files: [] }
const READING = { mostBytes: 100, apart: [] }

test('the SKILL.md of a skill is read where its author has it, by the path that the operator named', async () => {
  await using folder = await temporaryFolder()
  await fillFolder(join(folder.path, 'real'), {
    'skills/a/SKILL.md': 'first',
    'skills/b/SKILL.md': { link: '../a/SKILL.md' },
  })
  await symlink('real', join(folder.path, 'named'))
  const source = { path: join(folder.path, 'named'), root: 'skills', links: 'inside' as const }

  const first = await authoredDocument(source, A, READING)
  await writeFile(join(folder.path, 'real/skills/a/SKILL.md'), 'second')
  const second = await authoredDocument(source, A, READING)
  const linked = await authoredDocument(source, { path: 'b', files: [] }, READING)

  expect(first).toEqual({ path: join(folder.path, 'named/skills/a/SKILL.md'), bytes: Buffer.from('first') })
  expect(second).toMatchObject({ bytes: Buffer.from('second') })
  expect(linked).toMatchObject({ bytes: Buffer.from('second') })
})

test.each<[string, (document: string, outside: string) => Promise<unknown>]>([
  ['is gone', (document) => rm(document)],
  ['is a link out of the folder', (document, outside) => rm(document).then(() => symlink(outside, document))],
  [
    'lies in a folder that is a link out of it',
    async (document, outside) => {
      await rm(join(document, '..'), { recursive: true })
      await symlink(join(outside, '..'), join(document, '..'))
    },
  ],
  ['is a folder', (document) => rm(document).then(() => mkdir(document))],
  ['is a pipe', (document) => rm(document).then(() => execFileSync('mkfifo', [document]))],
  ['is a link to itself', (document) => rm(document).then(() => symlink('SKILL.md', document))],
  ['is too large', (document) => writeFile(document, 'x'.repeat(101))],
])('a SKILL.md that %s is not read', async (_, change) => {
  await using folder = await temporaryFolder()
  const source = { path: join(folder.path, 'skills'), root: '', links: 'inside' as const }
  await fillFolder(folder.path, { 'skills/a/SKILL.md': 'a', 'outside/SKILL.md': 'secret' })

  await change(join(source.path, 'a/SKILL.md'), join(folder.path, 'outside/SKILL.md'))

  expect(await authoredDocument(source, A, READING)).toBeUndefined()
})

test('a file beside SKILL.md that is not as it is served is told, and the bytes of neither', async () => {
  await using folder = await temporaryFolder()
  const source = { path: join(folder.path, 'skills'), root: '', links: 'inside' as const }
  await fillFolder(source.path, { 'a/SKILL.md': 'newer', 'a/run.sh': 'run', 'a/link.sh': { link: 'run.sh' } })
  const served = (path: string, text: string) =>
    ({
      path,
      size: text.length,
      sha256: hash('sha256', text),
      executable: false,
      blob: objectId(ABSENT.sha256),
    }) as const
  const files = [served('SKILL.md', 'older'), served('run.sh', 'run'), served('link.sh', 'run')]
  const read = () => authoredDocument(source, { path: 'a', files }, READING)

  const asServed = await read()
  await writeFile(join(source.path, 'a/run.sh'), 'RUN')
  const changed = await read()
  await rm(join(source.path, 'a/run.sh'))
  const gone = await read()

  expect(asServed).toMatchObject({ bytes: Buffer.from('newer') })
  expect([changed, gone]).toEqual(['differs', 'differs'])
})

test('a pipe that stands in the place of SKILL.md is not opened', async () => {
  await using folder = await temporaryFolder()
  const source = { path: folder.path, root: '', links: 'inside' as const }
  await fillFolder(folder.path, { 'a/x': '' })
  execFileSync('mkfifo', [join(folder.path, 'a/SKILL.md')])
  // Who waits to write into a pipe goes on as soon as somebody opens it to read.
  let isOpened = false
  const writing = open(join(folder.path, 'a/SKILL.md'), 'w').then((handle) => {
    isOpened = true
    return handle
  })

  const document = await authoredDocument(source, A, READING)
  await setImmediate()

  expect([document, isOpened]).toEqual([undefined, false])
  await using _reading = await open(join(folder.path, 'a/SKILL.md'), constants.O_RDONLY | constants.O_NONBLOCK)
  await using _writing = await writing
})

test.each<[string, (folder: string) => Promise<unknown>, string | undefined]>([
  ['to a skill', async () => {}, 'linked'],
  ['that is one of a chain', (folder) => moved(join(folder, 'skills/a'), 'b', '../other/pdf'), 'linked'],
  ['that leads to another skill since', (folder) => retarget(join(folder, 'skills/a'), '../other/csv'), 'csv'],
  ['that dangles', (folder) => rm(join(folder, 'other/pdf'), { recursive: true }), undefined],
  ['in a circle', (folder) => retarget(join(folder, 'skills/a'), 'a'), undefined],
  ['to a file', (folder) => retarget(join(folder, 'skills/a'), '../other/pdf/SKILL.md'), undefined],
  ['to what is no skill', (folder) => rm(join(folder, 'other/pdf/SKILL.md')), undefined],
  ['into what is kept apart', (folder) => retarget(join(folder, 'skills/a'), '../state/a'), undefined],
  [
    'to a skill whose SKILL.md is a link',
    async (folder) => {
      await rm(join(folder, 'other/pdf/SKILL.md'))
      await symlink('../csv/SKILL.md', join(folder, 'other/pdf/SKILL.md'))
    },
    undefined,
  ],
])('behind a link %s, the SKILL.md is read by its path in the folder, or not at all', async (_, change, text) => {
  await using folder = await temporaryFolder()
  await fillFolder(folder.path, {
    'other/pdf/SKILL.md': 'linked',
    'other/csv/SKILL.md': 'csv',
    'state/a/SKILL.md': 'stored',
    'skills/a': { link: '../other/pdf' },
  })
  const source = { path: join(folder.path, 'skills'), root: '', links: 'follow' as const }

  await change(folder.path)
  const read = await authoredDocument(source, A, { mostBytes: 100, apart: [join(folder.path, 'state')] })
  const inside = await authoredDocument({ ...source, links: 'inside' }, A, READING)

  const expected = text === undefined ? undefined : { path: join(source.path, 'a/SKILL.md'), bytes: Buffer.from(text) }
  expect(read).toEqual(expected)
  expect(inside).toBeUndefined()
})

test('behind a link, a file that leads out of the skill differs from what is served', async () => {
  await using folder = await temporaryFolder()
  await fillFolder(folder.path, {
    'other/pdf/SKILL.md': 'linked',
    'other/pdf/x': { link: '../secret' },
    'other/secret': 'secret',
    'skills/a': { link: '../other/pdf' },
  })
  const source = { path: join(folder.path, 'skills'), root: '', links: 'follow' as const }
  const served = {
    path: 'x',
    executable: false,
    blob: objectId(ABSENT.sha256),
    size: 6,
    sha256: hash('sha256', 'secret'),
  }

  expect(await authoredDocument(source, { path: 'a', files: [served] }, READING)).toBe('differs')
})

async function retarget(link: string, target: string): Promise<void> {
  await rm(link)
  await symlink(target, link)
}

async function moved(link: string, name: string, target: string): Promise<void> {
  await retarget(link, name)
  await symlink(target, join(link, '..', name))
}

test('a path that no disk takes is a failure that names it', async () => {
  await using folder = await temporaryFolder()
  const source = { path: folder.path, root: '', links: 'inside' as const }

  const failure = await authoredDocument(source, { path: 'x'.repeat(300), files: [] }, READING).catch(
    (error: unknown) => error,
  )

  expect(failure).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot read ".*\/x+\/SKILL\.md": ENAMETOOLONG$/),
    fix: 'The path is too long for that disk: name a shorter one',
  })
})
