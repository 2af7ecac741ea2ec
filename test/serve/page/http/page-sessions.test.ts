import { expect, test } from 'vitest'
import { PageSessions } from '../../../../src/serve/page/http/page-sessions.ts'
import type { Principal } from '../../../../src/serve/principal.ts'

test('a login of another principal ends no session while there is room for a thousand', async () => {
  const sessions = new PageSessions(() => 0)

  const ids = await Promise.all(
    Array.from({ length: 1_000 }, async (_, number) => sessions.open(principal(`user-${number}`))),
  )

  expect(ids.map((id) => sessions.find(id)?.id)).toEqual(ids.map((_, number) => `user-${number}`))
})

test('the oldest session of all makes room for the thousand and first', async () => {
  const sessions = new PageSessions(() => 0)
  const [oldest = '', next = ''] = await Promise.all(
    Array.from({ length: 1_000 }, async (_, number) => sessions.open(principal(`user-${number}`))),
  )

  const last = await sessions.open(principal('one-more'))

  expect([oldest, next, last].map((id) => sessions.find(id)?.id)).toEqual([undefined, 'user-1', 'one-more'])
})

test('a principal with ten sessions makes room for the eleventh by its own oldest alone', async () => {
  const sessions = new PageSessions(() => 0)
  const other = await sessions.open(principal('other'))
  const own = await Promise.all(Array.from({ length: 11 }, async () => sessions.open(principal('own'))))

  expect(sessions.find(other)?.id).toBe('other')
  expect(own.map((id) => sessions.find(id)?.id)).toEqual([undefined, ...own.slice(1).map(() => 'own')])
})

function principal(id: string): Principal {
  return { id, scopes: new Set() }
}
