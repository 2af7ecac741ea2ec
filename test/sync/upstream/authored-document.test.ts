import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { authoredDocument } from '../../../src/sync/upstream/authored-document.ts'
import { fillFolder } from '../../support/folder.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const A = { path: 'a' }

test('the SKILL.md of a skill is read where its author has it, by the path that the operator named', async () => {
  await using folder = await temporaryFolder()
  await fillFolder(join(folder.path, 'real'), {
    'skills/a/SKILL.md': 'first',
    'skills/b/SKILL.md': { link: '../a/SKILL.md' },
  })
  await symlink('real', join(folder.path, 'named'))
  const source = { path: join(folder.path, 'named'), root: 'skills' }

  const first = await authoredDocument(source, A, 100)
  await writeFile(join(folder.path, 'real/skills/a/SKILL.md'), 'second')
  const second = await authoredDocument(source, A, 100)
  const linked = await authoredDocument(source, { path: 'b' }, 100)

  expect(first).toEqual({ path: join(folder.path, 'named/skills/a/SKILL.md'), bytes: Buffer.from('first') })
  expect(second?.bytes).toEqual(Buffer.from('second'))
  expect(linked?.bytes).toEqual(Buffer.from('second'))
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
  const source = { path: join(folder.path, 'skills'), root: '' }
  await fillFolder(folder.path, { 'skills/a/SKILL.md': 'a', 'outside/SKILL.md': 'secret' })

  await change(join(source.path, 'a/SKILL.md'), join(folder.path, 'outside/SKILL.md'))

  expect(await authoredDocument(source, A, 100)).toBeUndefined()
})
