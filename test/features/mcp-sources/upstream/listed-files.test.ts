import { expect, test } from 'vitest'
import { ListedFiles } from '../../../../src/features/mcp-sources/upstream/listed-files.ts'

const SKILLS = 500

test('however many skills look for their files, each file of the list is looked at a few times', () => {
  let looks = 0
  const names = Array.from({ length: SKILLS }, (_, at) => `skill-${at}`)
  const files = new ListedFiles(
    names.map((name) => ({
      get uri() {
        looks += 1
        return `skill://${name}/SKILL.md`
      },
      size: 1,
      said: '',
    })),
  )

  const found = names.map((name) => [files.below(name).length, files.at(`skill://${name}/SKILL.md`)?.size])

  expect(found).toEqual(names.map(() => [1, 1]))
  expect(looks).toBeLessThanOrEqual(4 * SKILLS)
})

test('below a folder lies what is in it at any depth, and no neighbour whose name begins alike', () => {
  const uris = ['a-b/x', 'a/z/y', 'a', 'a.b/x', 'a0/x', 'a/x', 'a/z', '~/a/x', 'a/../b'].map(
    (path) => `skill://${path}`,
  )
  const files = new ListedFiles(uris.map((uri) => ({ uri, size: undefined, said: '' })))

  const below = (folder: string) => files.below(folder).map(({ uri }) => uri)

  expect(below('a')).toEqual(['skill://a/x', 'skill://a/z', 'skill://a/z/y'])
  expect(below('a/z')).toEqual(['skill://a/z/y'])
  expect(below('b')).toEqual([])
})
