import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { explainedCodes } from '../../../../src/features/author/explain/code-list.ts'
import { LOG_EVENTS } from '../../../../src/features/author/explain/log-events.ts'
import { SYNC_ERROR_RULES } from '../../../../src/sync/model/sync-error.ts'
import { Home } from '../../../support/process/program.ts'

const SOURCE = fileURLToPath(new URL('../../../../src/', import.meta.url))

test('a code is explained with its meaning, its effect and its fix, without configuration and daemon', async () => {
  await using home = await Home.create()

  const text = await home.command('explain', 'repository-not-found')
  const json = await home.command('explain', 'repository-not-found', 'name-clash', '--json')

  expect(text).toMatchObject({ status: 0, stderr: '' })
  expect(text.stdout).toContain('repository-not-found: problem of a source\n  There is no such repository')
  expect(text.stdout).toContain(`\n  fix:    ${SYNC_ERROR_RULES['repository-not-found'].fix}\n`)
  expect(JSON.parse(json.stdout).codes).toMatchObject([
    { code: 'repository-not-found', kind: 'problem of a source', effect: expect.stringContaining('until a person') },
    { code: 'name-clash', kind: 'finding in a skill' },
  ])
})

test('a code of several kinds is explained as each of them', async () => {
  await using home = await Home.create()

  const { stdout } = await home.command('explain', 'history-rewritten')

  expect(stdout).toContain('history-rewritten: problem of a source\n')
  expect(stdout).toContain('history-rewritten: event of the log\n')
})

test('a mistyped code has the one that was meant, and no code is wrong usage', async () => {
  await using home = await Home.create()

  const mistyped = await home.command('explain', 'repositry-not-found')
  const none = await home.command('explain')

  expect(mistyped).toMatchObject({ status: 1, stderr: expect.stringContaining('did you mean "repository-not-found"?') })
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('wants a code') })
})

test('every code has a meaning, an effect and a fix, once for each of its kinds', () => {
  const codes = explainedCodes()

  expect(codes.length).toBeGreaterThan(250)
  expect(codes.filter(({ meaning, effect, fix }) => [meaning, effect, fix].some((text) => text.trim() === ''))).toEqual(
    [],
  )
  const keys = codes.map(({ code, kind }) => `${kind} ${code}`)
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

test('each event that the program logs by its name is explained', async () => {
  const files = (await readdir(SOURCE, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const texts = await Promise.all(files.map(async (name) => readFile(join(SOURCE, name), 'utf8')))

  const all = texts.join('\n')
  const plain = all.matchAll(/\blog\??\.(?:info|warn|error|debug|recovery)\(\s*'([a-z]+(?:-[a-z]+)*)'/g)
  const failures = all.matchAll(/\blog\??\.failure\(\s*'[a-z]+',\s*'([a-z-]+)'/g)
  const logged = [...plain, ...failures].map(([, event]) => event)

  expect(logged.length).toBeGreaterThan(80)
  expect([...new Set(logged)].filter((event = '') => !Object.hasOwn(LOG_EVENTS, event))).toEqual([])
})
