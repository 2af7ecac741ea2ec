import { expect, test } from 'vitest'
import type { Config, LockOrigin } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'

const ENVIRONMENT = environmentOf({ HOME: '/home/ada' }, '/home/ada')
const GIT = 'https://git.example.com/team/config.git'
const EACH_MINUTE = { kind: 'every', periodMs: 60_000 }
const COMMIT = '3f2c9d1e5b7a4c6d8e0f1a2b3c4d5e6f7a8b9c0d'

test('the repository of a lock is reached as a source is, with the defaults of its address', () => {
  const { lock, lockFrom } = parse(
    `{ from: { git: ${GIT}, accept: ${COMMIT}, auth: { token: { env: T } } } }`,
    'defaults: [{ match: https://git.example.com, ca: /ca.pem, every: 1h }]',
  )

  expect(lock).toBe('/state/logs/lock-in-force.json')
  expect(lockFrom).toMatchObject({
    path: 'skills.lock',
    accepted: COMMIT,
    repository: {
      source: { kind: 'git', id: 'skills-lock', url: GIT, ref: undefined, schedule: EACH_MINUTE },
      ca: '/ca.pem',
    },
  } satisfies Partial<Record<keyof LockOrigin, unknown>>)
})

test('the lock is looked at after a duration, or at set times, as a source is', () => {
  const schedules = ['2h', '"0 6 * * *"', '"@hourly"'].map(
    (every) => parse(`{ from: { git: ${GIT} }, every: ${every} }`).lockFrom?.repository.source.schedule,
  )

  expect(schedules).toEqual([
    { kind: 'every', periodMs: 7_200_000 },
    { kind: 'cron', expression: '0 6 * * *' },
    { kind: 'cron', expression: '@hourly' },
  ])
})

test('a file, ignore and no key have no repository', () => {
  const locks = ['/etc/a.lock', 'ignore', 'follow'].map((lock) => parse(lock))

  expect(locks.map(({ lock, lockUse, lockFrom }) => [lock, lockUse, lockFrom])).toEqual([
    ['/etc/a.lock', 'follow', undefined],
    ['/etc/skillsyncd/skills.lock', 'ignore', undefined],
    ['/etc/skillsyncd/skills.lock', 'follow', undefined],
  ])
})

test.each([
  [`{ from: { git: ${GIT}, path: ../skills.lock } }`, 'lock.from.path: must be a path inside the repository'],
  [`{ from: { git: ${GIT}, path: '' } }`, 'lock.from.path: must name a file'],
  [`{ from: { git: ${GIT}, accept: 3f2c9d1 } }`, 'lock.from.accept: must be the full id of a commit'],
  [`{ from: { git: ${GIT} }, every: 1ms }`, 'lock.every: must be 1s at least'],
  [`{ from: { git: ${GIT} }, every: '* * *' }`, 'lock.every: is not a cron expression'],
  ['{ from: { git: git@git.example.com:a.git, backend: embedded } }', 'lock.from.backend: cannot be embedded'],
  ['{ from: { git: git@git.example.com:a.git, backend: isomorphic } }', 'lock.from.backend: cannot be isomorphic'],
  ['{ from: { git: http://git.example.com/a.git, auth: { token: { env: T } } } }', 'lock.from.auth'],
])('%s is refused', (lock, said) => {
  expect(() => parse(lock)).toThrow(said)
})

test('no source has the name of the repository of the lock', () => {
  expect(() => parse(`{ from: { git: ${GIT} } }`, '', 'skills-lock')).toThrow('sources[0].id: is the name')
  expect(parse('ignore', '', 'skills-lock').sources).toHaveLength(1)
})

function parse(lock: string, rest = '', id = 'team'): Config {
  const text = `sources: [{ id: ${id}, url: https://git.example.com/a.git }]\nstate: /state\nlock: ${lock}\n${rest}\n`
  const config = parseConfig(text, '/etc/skillsyncd/skillsyncd.yaml', ENVIRONMENT)
  if (!Array.isArray(config)) return config
  throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
}
