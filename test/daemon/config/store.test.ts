import { expect, test } from 'vitest'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { configDigest } from '../../../src/daemon/control/same-config.ts'
import { hubConfigDigest } from '../../../src/features/hub-of-several/hub-config.ts'

const SOURCES = "sources: [{ id: a, url: 'https://git.example.com/team/a.git' }]"

function parse(...lines: readonly string[]): WholeConfig {
  return parseIn('/etc/skillsyncd', '/home/ada', ...lines)
}

function parseIn(folder: string, home: string, ...lines: readonly string[]): WholeConfig {
  const environment = environmentOf({ XDG_RUNTIME_DIR: `${home}/run` }, home)
  const config = parseConfig([SOURCES, ...lines, ''].join('\n'), `${folder}/skillsyncd.yaml`, environment)
  if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  return config
}

test('the address of the database is read where it is named', () => {
  expect(parse('store: { postgres: { url: { env: DATABASE } } }').postgres).toEqual({
    url: { kind: 'env', name: 'DATABASE' },
  })
  expect(parse('store: { postgres: { url: { file: db } } }').postgres).toEqual({
    url: { kind: 'file', path: '/etc/skillsyncd/db' },
  })
  expect(parse('store: { postgres: { url: { credential: db } } }').postgres).toEqual({
    url: { kind: 'credential', name: 'db' },
  })
  expect(parse().postgres).toBeUndefined()
})

test.each([
  ['store: {}', 'store.postgres'],
  ['store: { postgres: {} }', 'store.postgres.url'],
  [
    'store: { postgres: { url: { env: A, file: b } } }',
    'store.postgres.url: needs exactly one of `env`, `file`, `credential`',
  ],
  ['store: { sqlite: {} }', 'store.sqlite'],
])('%s is refused', (line, message) => {
  expect(() => parse(line)).toThrow(message)
})

test('an address that was written into the file is refused and not quoted', () => {
  const line = "store: { postgres: { url: 'postgres://hub:s3cret-word@db.example.com/hub' } }"

  expect(() => parse(line)).toThrow('store.postgres.url: a secret must not be written here')
  expect(() => parse(line)).not.toThrow('s3cret-word')
})

test('processes of a hub have equal configurations wherever they keep their state and read their address', () => {
  const one = parseIn(
    '/etc/skillsyncd',
    '/home/one',
    'store: { postgres: { url: { env: DATABASE } } }',
    'state: /srv/one',
  )
  const other = parseIn(
    '/opt/hub',
    '/home/other',
    'store: { postgres: { url: { credential: db } } }',
    'state: /srv/other',
  )
  const apart = parseIn('/opt/hub', '/home/other', 'state: /srv/other')

  expect(configDigest(one)).toBe(configDigest(other))
  expect(configDigest(apart)).not.toBe(configDigest(other))
})

test('configurations that differ in the limit of a pack alone are not equal', () => {
  const [one, same, other] = [150, 150, 151].map((budget) =>
    parse(`packs: [{ id: constructor, include: [{ source: a }], budget: ${budget} }]`),
  )

  for (const digest of [configDigest, hubConfigDigest]) {
    expect(digest(one!)).toBe(digest(same!))
    expect(digest(one!)).not.toBe(digest(other!))
  }
})
