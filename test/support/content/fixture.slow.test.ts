import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GitServer } from '../git/git-server.ts'
import { runGit } from '../git/repository.ts'
import { temporaryFolder } from '../temporary.ts'
import { buildFixture, type Fixture } from './fixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await buildFixture()
})

afterAll(() => fixture[Symbol.asyncDispose]())

test('a clone holds each file of each listed skill, byte for byte', async () => {
  await using server = await GitServer.start()
  await using folder = await temporaryFolder()
  await runGit(['clone', '--quiet', server.serve('fx', fixture.repository), folder.path])

  for (const skill of fixture.listed) {
    const files = fixture.filesOf(skill)
    expect(files.has('SKILL.md')).toBe(true)
    for (const [path, bytes] of files) {
      expect(bytes.equals(await readFile(join(folder.path, 'skills', skill, path)))).toBe(true)
    }
  }
})

test('the repository holds what the table says and nothing else', async () => {
  const names = await fixture.repository.git('ls-tree', '-r', '-z', '--name-only', 'main')

  expect(names.split('\0').filter(Boolean).sort()).toEqual([...fixture.files.keys()].sort())
})

test('the edges are exact', () => {
  const counts = ['edge-count', 'over-count'].map((skill) => fixture.filesOf(skill).size)
  const sizes = ['edge-size', 'over-size'].map((skill) =>
    [...fixture.filesOf(skill).values()].reduce((sum, bytes) => sum + bytes.length, 0),
  )

  expect(counts).toEqual([512, 513])
  expect(sizes).toEqual([16_777_216, 16_777_217])
})

test('a skill has its nested skills, its links resolved, and neither refused links nor submodules', () => {
  const names = (skill: string) => [...fixture.filesOf(skill).keys()].sort()

  expect(names('outer')).toEqual(['SKILL.md', 'broken/SKILL.md', 'inner/SKILL.md', 'inner/data.md'])
  expect(names('outer/inner')).toEqual(['SKILL.md', 'data.md'])
  expect(names('link-ok')).toEqual(['SKILL.md', 'alias.md', 'real.md'])
  expect(fixture.filesOf('link-ok').get('alias.md')).toEqual(fixture.filesOf('link-ok').get('real.md'))
  expect(names('link-escape')).toEqual(['SKILL.md'])
  expect(names('git-workflow-sub')).toEqual(['SKILL.md'])
})

test('every listed skill has its frontmatter, and its name is the last segment of its path', () => {
  expect([...fixture.frontmatter.keys()].sort()).toEqual(fixture.listed)
  for (const [skill, frontmatter] of fixture.frontmatter) {
    expect(frontmatter).toMatchObject({ name: skill.split('/').at(-1) })
  }
})

test('the canary is in the file that a link leads to, and in no object of the repository', async () => {
  const holding = (text: string) => fixture.repository.git('log', '--all', '--format=%s', `-S${text}`)

  const secret = await fixture.repository.git('show', 'main:skills/link-escape/secret')

  expect(await readFile(secret, 'utf8')).toContain(fixture.canary)
  expect(await holding(fixture.canary)).toBe('')
  expect(await holding('Pays a customer back')).toBe('FX')
})
