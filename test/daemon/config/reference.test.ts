import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { schemaJson } from '../../../src/daemon/config/schema-json.ts'
import { CONFIG } from '../../../src/daemon/configuration.ts'
import { configKeys, configReference } from '../../support/content/config-reference.ts'

const FILE = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url))

test('docs/configuration.md is what the schema makes (UPDATE_SCHEMA=1 writes it anew)', async () => {
  const fresh = configReference(schemaJson(CONFIG))

  if (process.env['UPDATE_SCHEMA'] === '1') await writeFile(FILE, fresh)

  expect(await readFile(FILE, 'utf8'), 'run this test with UPDATE_SCHEMA=1, and commit the file').toBe(fresh)
})

test('every key of the schema has a row with its kind, or a sentence with the place that describes it', () => {
  const schema = schemaJson(CONFIG)
  const lines = configReference(schema).replaceAll('[]', '').split('\n')
  const rows = new Map(
    lines.flatMap((line) => {
      const [, key, value] = /^`([^`]+)` \| ([^|]+) \| [^|]+$/.exec(line) ?? []
      return key === undefined || value === undefined ? [] : [[key, value]]
    }),
  )
  const elsewhere = new Map(
    lines.flatMap((line) => {
      const [, places = '', first = '', keys = ''] = /^(`.+) also ha(?:s|ve), as `(.+)`: (.+)\.$/.exec(line) ?? []
      return namesIn(places).flatMap((place) =>
        namesIn(keys).map((key): [string, string] => [`${place}.${key}`, `${first}.${key}`]),
      )
    }),
  )
  const isTold = (path: string): boolean => {
    if (rows.has(path)) return true
    const heads = [...path.matchAll(/\.|$/g)].map(({ index }) => path.slice(0, index))
    return heads.some((head) => {
      const place = elsewhere.get(head) ?? / ?\[(\w+)\]\(#/.exec(rows.get(head) ?? '')?.[1]
      return place !== undefined && isTold(`${place}${path.slice(head.length)}`)
    })
  }

  const untold = [...configKeys(schema)].filter((path) => !isTold(path))

  expect(rows.has('auth.github_app.app_id')).toBe(true)
  expect(rows.has('limits.disk.bytes')).toBe(true)
  expect(untold).toEqual([])
})

function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}
