import { hash } from 'node:crypto'
import fs from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { comparedByIsomorphic } from '../../../../src/sync/git/second-opinion/compared-objects.ts'
import { secondOpinion } from '../../../../src/sync/git/second-opinion/second-opinion.ts'
import type { ServedClaim, ClaimedFile } from '../../../../src/sync/git/second-opinion/second-opinion.ts'
import { compareClaims } from '../../../../src/sync/git/second-opinion/second-reader.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { linesOf, objectId, reach, STEADY } from '../../upstream/reached.ts'

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
  const objects = comparedByIsomorphic({ fs, gitdir: repository.folder, cache: {} })

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

const GOOD = 'A <a@b.c> 1700000000 +0000'

test.each([
  ['a time zone of three digits', { person: 'A <a@b.c> 1700000000 -700' }],
  ['no time', { person: 'A <a@b.c>' }],
  ['no space before the time', { person: 'A <a@b.c>1700000000 +0000' }],
  ['no address', { person: 'A 1700000000 +0000' }],
  ['a file mode of group', { mode: '100664' }],
  ['a file mode with a zero before it', { mode: '0100644' }],
])('an object that git takes and the second reader does not, with %s, is not compared', async (_, odd) => {
  const { person = GOOD, mode = '100644' } = odd as { person?: string; mode?: string }
  await using repository = await Repository.create()
  const id = await repository.blob(TEXT)
  const folder = (name: string, tree: string) => repository.rawTree([{ mode: '40000', name, id: tree }])
  const tree = await folder('alpha', await repository.rawTree([{ mode, name: 'notes.md', id }]))
  const people = `author ${person}\ncommitter ${person}\n`
  const commit = objectId(await repository.object('commit', `tree ${tree}\n${people}\nodd\n`))
  await repository.setRef('refs/heads/main', commit)
  await using server = await GitServer.start()
  await using reached = await reach(server.serve('team', repository))
  const asked = {
    by: 'isomorphic-git' as const,
    revision: { asked: undefined, ref: 'refs/heads/main', commit },
    claims: [NOTES],
  }

  await using taken = await reached.tree()
  const opinions = [
    await secondOpinion(pathToFileURL(repository.folder).href, asked, reached.reach, STEADY),
    await secondOpinion(`${server.origin}/team.git`, asked, reached.reach, STEADY),
  ]

  expect(linesOf(taken)).toEqual([`100644 blob ${id}\talpha/notes.md`])
  const unread = opinions.map((opinion) => (opinion.kind === 'compared' ? opinion.unread?.[0] : opinion.why))
  const differences = opinions.flatMap((opinion) => (opinion.kind === 'compared' ? opinion.differences : []))
  expect(unread).toEqual(opinions.map(() => expect.stringMatching(/^the second reader cannot read the object \w{40}$/)))
  expect(differences).toEqual([])
})

test('an object that cannot be read and is damaged is no odd form: the comparison fails', async () => {
  await using repository = await Repository.create()
  const commit = objectId(await repository.commit({ 'alpha/notes.md': TEXT }))
  const tree = await repository.git('rev-parse', 'main:alpha')
  const place = join(repository.folder, 'objects', tree.slice(0, 2), tree.slice(2))
  await rm(place)
  await writeFile(place, deflateSync('tree 3\0odd'))
  const objects = comparedByIsomorphic({ fs, gitdir: repository.folder, cache: {} })

  await expect(compareClaims(objects, commit, [NOTES], 'disk')).rejects.toThrow(/SHA check failed|internal error/i)
})

const TEXT = 'text'

function file(path: string, { executable = false } = {}): ClaimedFile {
  return { path, executable, blob: objectId('1'.repeat(40)), size: TEXT.length, sha256: hash('sha256', TEXT) }
}

const NOTES: ServedClaim = { skill: 'alpha', folder: 'alpha', files: [file('notes.md')] }

/** The differences between a commit, which has an executable and a plain file in one skill, and the files that are claimed of it. */
async function differencesOf(files: ServedClaim['files']): Promise<unknown> {
  await using repository = await Repository.create()
  const commit = await repository.commit({ 'alpha/run.sh': { executable: TEXT }, 'alpha/notes.md': TEXT })
  const objects = comparedByIsomorphic({ fs, gitdir: repository.folder, cache: {} })
  const opinion = await compareClaims(objects, objectId(commit), [{ skill: 'alpha', folder: 'alpha', files }], 'disk')
  return opinion.kind === 'compared' ? opinion.differences : opinion
}
