import { hash } from 'node:crypto'
import fs from 'node:fs'
import { expect, test } from 'vitest'
import type { ServedClaim, ClaimedFile } from '../../../../../src/sync/upstream/git/second-opinion/second-opinion.ts'
import { compareClaims } from '../../../../../src/sync/upstream/git/second-opinion/second-reader.ts'
import { Repository } from '../../../../support/git/repository.ts'
import { objectId } from '../../reached.ts'

test('files as the commit has them are no difference', async () => {
  expect(await differencesOf([file('run.sh', { executable: true }), file('notes.md')])).toEqual([])
})

test('an executable that is served as a plain file differs, and the other way round', async () => {
  expect(await differencesOf([file('run.sh'), file('notes.md', { executable: true })])).toEqual([
    { skill: 'alpha', path: 'run.sh', message: 'it is executable in the commit, and not as it is served' },
    { skill: 'alpha', path: 'notes.md', message: 'it is not executable in the commit, and as it is served' },
  ])
})

test('a file of the commit that is not served with its skill differs', async () => {
  expect(await differencesOf([file('run.sh', { executable: true })])).toEqual([
    { skill: 'alpha', path: 'notes.md', message: 'the commit has this file in the skill, and it is not served' },
  ])
})

test('a pointer of git LFS that is left out of its skill is no difference, and any other file is one', async () => {
  await using repository = await Repository.create()
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
  const commit = await repository.commit({ 'alpha/run.sh': TEXT, 'alpha/a.png': pointer, 'alpha/b.png': 'whole' })
  const claim = { skill: 'alpha', folder: 'alpha', files: [file('run.sh')] }
  const objects = { fs, gitdir: repository.folder, cache: {} }

  const [leftOut, whole] = [true, false].map((lacksPointers) =>
    compareClaims(objects, objectId(commit), [{ ...claim, lacksPointers }], 'disk'),
  )

  expect(await leftOut).toMatchObject({ differences: [{ path: 'b.png' }] })
  expect(await whole).toMatchObject({ differences: [{ path: 'a.png' }, { path: 'b.png' }] })
})

test('a served file that the commit does not have differs', async () => {
  const files = [file('run.sh', { executable: true }), file('notes.md'), file('more.md')]

  expect(await differencesOf(files)).toEqual([
    { skill: 'alpha', path: 'more.md', message: 'the commit has no such file' },
  ])
})

const TEXT = 'text'

function file(path: string, { executable = false } = {}): ClaimedFile {
  return { path, executable, blob: objectId('1'.repeat(40)), size: TEXT.length, sha256: hash('sha256', TEXT) }
}

/** The differences between a commit, which has an executable and a plain file in one skill, and the files that are claimed of it. */
async function differencesOf(files: ServedClaim['files']): Promise<unknown> {
  await using repository = await Repository.create()
  const commit = await repository.commit({ 'alpha/run.sh': { executable: TEXT }, 'alpha/notes.md': TEXT })
  const objects = { fs, gitdir: repository.folder, cache: {} }
  const opinion = await compareClaims(objects, objectId(commit), [{ skill: 'alpha', folder: 'alpha', files }], 'disk')
  return opinion.kind === 'compared' ? opinion.differences : opinion
}
