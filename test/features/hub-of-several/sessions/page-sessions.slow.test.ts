import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newToken } from '../../../../src/daemon/access/tokens.ts'
import { PostgresDatabase } from '../../../../src/sync/postgres/postgres-database.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository } from '../../../support/git/repository.ts'
import { TokenIssuer } from '../../../support/http/issuer.ts'
import { Visitor } from '../../../support/http/visitor.ts'
import { allowConnections } from '../../../support/postgres.ts'
import { serve } from '../../../support/served.ts'
import type { Served, ServedOptions } from '../../../support/served.ts'

const HUB = 'https://skills.example.com'
const CLIENT = { id: 'the page', redirectUris: [`${HUB}/login/callback`] } as const
const SESSION = '__Host-skillsyncd'

describePostgres('the page of a hub of several processes', (postgres) => {
  let issuer: TokenIssuer
  let repository: Repository
  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit({ 'tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n' })
    issuer = await TokenIssuer.start()
    issuer.grants.know(CLIENT)
  }, 120_000)
  afterEach(() => issuer.reset())
  afterAll(async () => {
    await issuer[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  }, 120_000)

  /** Two processes on one database. */
  async function hub(options: ServedOptions = {}) {
    await using parts = new AsyncDisposableStack()
    const url = await postgres.createDatabase()
    const config = [
      'serve:',
      `  http: { public_url: '${HUB}' }`,
      `  oauth: { issuer: '${issuer.url}', audience: hub, page: { client_id: ${CLIENT.id} } }`,
    ]
    const open = async (): Promise<Served> => {
      const times = { connectMs: 2_000, statementMs: 5_000 }
      const shared = parts.use(SharedStore.at({ url, times, connections: 4 }))
      return parts.use(await serve(repository, { ...options, shared, config }))
    }
    const [one, other] = [await open(), await open()]
    const held = parts.move()
    return { url, one, other, [Symbol.asyncDispose]: async () => held.disposeAsync() }
  }

  /** The status of the page for this browser at each process. */
  async function seen(visitor: Visitor, ...processes: readonly Served[]): Promise<readonly (number | undefined)[]> {
    const all: (number | undefined)[] = []
    for (const { http } of processes) {
      visitor.origin = http.url
      all.push((await visitor.open('/sources')).status)
    }
    return all
  }

  test('is open at each process after a sign-in that began at one and ended at another', async () => {
    await using world = await hub()
    const { one, other } = world
    const ada = new Visitor(one.http.url, HUB)
    const back = await ada.approve('/login/start?to=sources')
    ada.origin = other.http.url

    const entered = await ada.open(back)

    expect(entered.status).toBe(200)
    expect(await seen(ada, one, other, one)).toEqual([200, 200, 200])
    ada.origin = one.http.url
    expect((await ada.open('/sources')).text).toContain('oauth:ada#')
  })

  test('is closed at each process after the reader has signed out at one, also for a copy of the cookie', async () => {
    await using world = await hub()
    const { one, other } = world
    const ada = new Visitor(one.http.url, HUB)
    await ada.signIn()
    expect(await seen(ada, one, other)).toEqual([200, 200])
    const copy = new Visitor(one.http.url, HUB)
    for (const [name, value] of ada.cookies) copy.cookies.set(name, value)

    ada.origin = other.http.url
    await ada.send('/logout')
    await one.daemon.refreshSessions()

    expect(await seen(copy, one, other)).toEqual([401, 401])
  })

  test('a second sign-in ends the first one, which began at another process', async () => {
    await using world = await hub()
    const { one, other } = world
    const ada = new Visitor(one.http.url, HUB)
    await ada.signIn()
    const first = ada.cookies.get(SESSION) ?? ''
    ada.origin = other.http.url
    await ada.signIn()
    const copy = new Visitor(one.http.url, HUB)
    copy.cookies.set(SESSION, first)
    await one.daemon.refreshSessions()

    expect(await seen(ada, one, other)).toEqual([200, 200])
    expect(await seen(copy, one, other)).toEqual([401, 401])
  })

  test('is open with a token that was entered at another process, until the token is revoked', async () => {
    await using world = await hub()
    const { one, other } = world
    const { secret, sha256 } = newToken()
    const created = new Date().toISOString()
    await one.daemon.parts.tokens.add({ name: 'ben', sha256, scopes: ['page', 'skills'], created })
    await other.daemon.parts.tokens.refresh()
    const ben = new Visitor(one.http.url, HUB)

    const entered = await ben.send('/login', { token: secret })
    const open = await seen(ben, one, other)
    await one.daemon.parts.tokens.revoke('ben')
    await other.daemon.parts.tokens.refresh()

    expect(entered.status).toBe(303)
    expect(open).toEqual([200, 200])
    expect(await seen(ben, one, other)).toEqual([401, 401])
  })

  test('closes at each process when the ID token has expired', async () => {
    const clock = new FakeClock()
    clock.setWall(new Date())
    await using world = await hub({ clock })
    const { one, other } = world
    const ada = new Visitor(one.http.url, HUB)
    await ada.signIn()
    const before = await seen(ada, other)

    // By the clock of the machine, as the issuer does: how long the sign-in took does not matter.
    clock.setWall(new Date(Date.now() + 310_000))

    expect(before).toEqual([200])
    expect(await seen(ada, one, other)).toEqual([401, 401])
  })

  test('has ten sign-ins of one reader, over all processes', async () => {
    await using world = await hub()
    const { one, other } = world
    const visitors: Visitor[] = []
    for (let number = 0; number < 11; number += 1) {
      const ada = new Visitor((number % 2 === 0 ? one : other).http.url, HUB)
      await ada.signIn()
      visitors.push(ada)
    }
    await one.daemon.refreshSessions()
    await other.daemon.refreshSessions()

    const open = await Promise.all(visitors.map(async (ada) => seen(ada, one, other)))

    expect(open).toEqual([[401, 401], ...Array.from({ length: 10 }, () => [200, 200])])
  })

  test('keeps no cookie and no token in the database', async () => {
    await using world = await hub()
    const { one, url } = world
    const { secret, sha256 } = newToken()
    await one.daemon.parts.tokens.add({ name: 'ben', sha256, scopes: ['page'], created: new Date().toISOString() })
    const [ada, ben] = [new Visitor(one.http.url, HUB), new Visitor(one.http.url, HUB)]
    await ada.signIn()
    await ben.send('/login', { token: secret })

    await using database = PostgresDatabase.at({ url })
    const rows = await database.query('read', 'SELECT *, details::text AS text FROM skillsyncd.page_session')

    expect(rows).toHaveLength(2)
    const text = JSON.stringify(rows)
    for (const hidden of [secret, ada.cookies.get(SESSION), ben.cookies.get(SESSION)]) {
      expect(hidden).toMatch(/[\w-]{43}/)
      expect(text).not.toContain(hidden)
    }
  })

  test('while the database is away, signs in at one process, keeps known sign-ins, and ends those that are signed out', async () => {
    await using world = await hub()
    const { one, other, url } = world
    const [ada, ben] = [new Visitor(one.http.url, HUB), new Visitor(one.http.url, HUB)]
    await ada.signIn()
    await seen(ada, other)
    const copy = new Visitor(one.http.url, HUB)
    copy.cookies.set(SESSION, ada.cookies.get(SESSION) ?? '')

    await allowConnections(url, false)
    const known = await seen(ada, one, other)
    await ben.signIn()
    const fresh = await seen(ben, one, other)
    ada.origin = one.http.url
    const left = await ada.send('/logout')
    const atOne = await seen(copy, one)
    await allowConnections(url, true)
    const before = await seen(copy, one)
    await one.daemon.refreshSessions()
    await other.daemon.refreshSessions()

    expect(known).toEqual([200, 200])
    expect(fresh).toEqual([200, 401])
    expect([left.status, atOne, before]).toEqual([303, [401], [401]])
    expect(one.logged()).toContain('sign-ins-not-shared')
    expect(await seen(copy, one, other)).toEqual([401, 401])
    expect(await seen(ben, one)).toEqual([200])
  })
})
