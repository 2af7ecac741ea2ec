import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Tokens, newToken } from '../../../src/daemon/access/tokens.ts'
import { documentText } from '../../../src/sync/postgres/document-text.ts'
import { SharedDocuments } from '../../../src/sync/postgres/shared-documents.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { HubDatabase } from '../../support/hub-database.ts'
import type { Postgres } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')

describePostgres('the tokens of a hub of several processes', (server) => {
  test('a token is valid at each process, and ends at each when one revokes it', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    let ended = 0
    other.tokens.listen(() => (ended += 1))
    const secret = await add(one.tokens, 'ada')
    const unknown = other.tokens.principalOf(secret)

    await other.tokens.refresh()
    const principal = other.tokens.principalOf(secret)
    const before = [principal?.id, principal?.isOver?.(), ended]
    await one.tokens.revoke('ada')
    const refreshed = [await other.tokens.refresh(), await other.tokens.refresh()]

    expect([unknown, before]).toEqual([undefined, [expect.stringMatching(/^token:ada#/), false, 1]])
    expect([refreshed, ended]).toEqual([[true, false], 2])
    expect([other.tokens.principalOf(secret), principal?.isOver?.()]).toEqual([undefined, true])
    expect(other.tokens.isGone(principal?.id ?? '')).toBe(true)
    expect(await other.names()).toEqual([])
  })

  test('what goes on in the name of a token goes on at each process when it is renewed, or another one is added', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    const secret = await add(one.tokens, 'ada')
    await other.tokens.refresh()
    const principal = other.tokens.principalOf(secret)

    await one.tokens.renew('ada', '2026-09-01T00:00:00.000Z')
    await add(one.tokens, 'brian')
    await other.tokens.refresh()

    expect(principal?.isOver?.()).toBe(false)
    expect(other.tokens.nextExpiry).toEqual(new Date('2026-09-01T00:00:00.000Z'))
  })

  test('all that several processes add, renew and revoke at once is kept, and a name is given once', async () => {
    await using hub = await Hub.open(server)
    const members = [await hub.join(), await hub.join(), await hub.join()]

    const ends = await Promise.all(
      members.map(async ({ tokens }, index) => {
        for (let turn = 0; turn < 15; turn += 1) {
          await add(tokens, `p${index}-${turn}`)
          if (turn % 3 === 0) await tokens.revoke(`p${index}-${turn}`)
          if (turn % 3 === 1) await tokens.renew(`p${index}-${turn}`, '2026-09-01T00:00:00.000Z')
        }
        return add(tokens, 'everybody').catch((error: unknown) => String(error))
      }),
    )

    const kept = [1, 2, 4, 5, 7, 8, 10, 11, 13, 14]
    const expected = [...members.flatMap((_, index) => kept.map((turn) => `p${index}-${turn}`)), 'everybody'].toSorted()
    for (const member of members) {
      await member.tokens.refresh()
      expect(member.tokens.all?.map(({ name }) => name).toSorted()).toEqual(expected)
      expect(member.tokens.all?.filter(({ expires }) => expires !== undefined)).toHaveLength(15)
      expect((await member.names()).toSorted()).toEqual(expected)
    }
    expect(ends.filter((end) => end.includes('There is a token "everybody" already'))).toHaveLength(2)
  }, 60_000)

  test('while the database is away, known tokens are valid, also after a start, and none is added or revoked', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join()
    const secret = await add(member.tokens, 'ada')

    await server.stop()
    const failed = await Promise.allSettled([add(member.tokens, 'brian'), member.tokens.revoke('ada')])
    const again = await hub.join(member.path)
    const blank = await hub.join()
    await server.start()

    for (const one of failed)
      expect(one).toMatchObject({
        reason: { code: 'store-failed', message: expect.stringContaining('nothing was changed') },
      })
    for (const { tokens } of [member, again]) {
      expect(tokens.all?.map(({ name }) => name)).toEqual(['ada'])
      expect(tokens.principalOf(secret)).toBeDefined()
    }
    // Without a copy, it does not know if there are tokens.
    expect(blank.tokens.all).toBeUndefined()
    expect(await blank.tokens.refresh()).toBe(true)
    expect(blank.tokens.principalOf(secret)).toBeDefined()
  }, 120_000)

  test('a damaged row admits no client that was not known, and gets no token until it is mended', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join()
    const secret = await add(member.tokens, 'ada')
    await hub.database.query('edit', "UPDATE skillsyncd.document SET bytes = 'x' WHERE name = 'tokens'")

    const failed = await Promise.allSettled([add(member.tokens, 'brian'), member.tokens.refresh()])
    const blank = await hub.join()
    const [row] = await hub.database.query('read', "SELECT bytes FROM skillsyncd.document WHERE name = 'tokens'")

    for (const one of failed) expect(one).toMatchObject({ reason: { message: expect.stringContaining('damaged') } })
    expect([member.tokens.all, blank.tokens.all, blank.tokens.isAnyInForce]).toEqual([undefined, undefined, false])
    expect([member.tokens.principalOf(secret)?.id, blank.tokens.principalOf(secret)]).toEqual([
      expect.stringContaining('token:ada'),
      undefined,
    ])
    expect(row?.['bytes']).toEqual(Buffer.from('x'))
    await hub.database.query('remove', "DELETE FROM skillsyncd.document WHERE name = 'tokens'")
    await add(member.tokens, 'brian')
    expect(member.tokens.all?.map(({ name }) => name)).toEqual(['ada', 'brian'])
  })

  test('a revoked token comes not back from an old folder after the database has lost the tokens', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    const member = await hub.join(folder.path)
    const secret = await add(member.tokens, 'ada')
    await using old = await temporaryFolder()
    await cp(folder.path, old.path, { recursive: true })
    await member.tokens.revoke('ada')
    await hub.database.query('remove', "DELETE FROM skillsyncd.document WHERE name = 'tokens'")

    const back = await hub.join(old.path)
    await member.tokens.refresh()
    await back.tokens.refresh()

    expect([member.tokens.principalOf(secret), back.tokens.principalOf(secret)]).toEqual([undefined, undefined])
  })

  test('a hub that moves to a database keeps its tokens; from then on those in the database win over a file', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    const alone = new Tokens(folder.path, () => NOW)
    const secret = await add(alone, 'ada')

    const moved = await hub.join(folder.path)
    const blank = await hub.join()
    await writeFile(join(folder.path, 'tokens.json'), '{"tokens": []}')
    const edited = await hub.join(folder.path)
    await rm(join(folder.path, 'tokens.json'))
    await moved.tokens.refresh()

    for (const { tokens } of [moved, blank, edited]) expect(tokens.principalOf(secret)).toBeDefined()
    expect(await moved.names()).toEqual(['ada'])
  })

  test('a token that another process has added is in the file as soon as its name is refused here', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await add(one.tokens, 'ada')

    await expect(add(other.tokens, 'ada')).rejects.toMatchObject({ code: 'token-exists' })

    expect(await other.names()).toEqual(['ada'])
  })
})

async function add(tokens: Tokens, name: string): Promise<string> {
  const { secret, sha256 } = newToken()
  await tokens.add({ name, sha256, scopes: ['skills'], created: NOW.toISOString() })
  return secret
}

interface Member {
  readonly path: string
  readonly tokens: Tokens
  /** The names of the tokens in its file. */
  names(): Promise<readonly string[]>
}

/** Processes that share one database, each with a state folder. */
class Hub extends HubDatabase {
  static async open(server: Postgres): Promise<Hub> {
    return new Hub(await HubDatabase.create(server))
  }

  /** Starts a process, which reaches the database if it can. */
  async join(path?: string): Promise<Member> {
    const at = path ?? this.opened.use(await temporaryFolder()).path
    const tokens = new Tokens(at, () => NOW)
    tokens.shareWith(documentText(new SharedDocuments(this.database), 'tokens'))
    for (const step of [async () => tokens.read(), async () => tokens.refresh()])
      await step().catch((error: unknown) => expect(error).toMatchObject({ code: 'store-failed' }))
    const names = async (): Promise<string[]> => {
      const { tokens: kept } = JSON.parse(await readFile(join(at, 'tokens.json'), 'utf8')) as { tokens: Named[] }
      return kept.map(({ name }) => name)
    }
    return { path: at, tokens, names }
  }
}

interface Named {
  readonly name: string
}
