import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/daemon/command-table.ts'
import { FEATURES, FEATURE_COMMANDS } from '../../src/daemon/features.ts'

const ROOT = fileURLToPath(new URL('../../src/', import.meta.url))

test('the list has the feature of each folder', async () => {
  const folders = await readdir(`${ROOT}features`)
  const list = await readFile(`${ROOT}daemon/features.ts`, 'utf8')

  const listed = [...list.matchAll(/from '\.\.\/features\/([\w-]+)\/feature\.ts'/g)].map(([, folder]) => folder)

  expect(new Set(listed)).toEqual(new Set(folders))
  expect(FEATURES).toHaveLength(folders.length)
})

test('each command of a feature is in the help, and no two features have one name', () => {
  const names = FEATURES.flatMap(({ commands = {} }) => Object.keys(commands))

  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThan(10)
  expect(Object.keys(FEATURE_COMMANDS)).toEqual(names)
  expect([...COMMANDS.keys()]).toEqual(expect.arrayContaining(names))
})
