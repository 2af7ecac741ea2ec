import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { documentText } from '../../../src/sync/postgres/document-text.ts'
import { SharedDocuments } from '../../../src/sync/postgres/shared-documents.ts'
import type { DecisionStore } from '../../../src/sync/store/decision-store.ts'
import type { SharedText } from '../../../src/sync/store/shared-text.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { disabledPaths, setDisabled, setHold, stayRule } from '../../support/decided.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { HubDatabase } from '../../support/hub-database.ts'
import { lawRuns } from '../../support/law-runs.ts'
import type { Postgres } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sourceId } from './samples.ts'

const HELD = { noPoll: true, at: '2026-06-15T10:00:00.000Z' } as const

const TEAM = sourceId('team')
const FILES = ['decisions.json', 'decisions-copy.json', join('generations', 'decisions.json')]

describePostgres('the decisions of a hub of several processes', (server) => {
  test('all that several processes decide at once is kept, at each of them and in its files', async () => {
    await using hub = await Hub.open(server)
    const members = [await hub.join(), await hub.join(), await hub.join()]
    const expected = new Set<string>()

    await fc.assert(
      fc.asyncProperty(fc.array(CHANGE, { minLength: 2, maxLength: 8 }), async (changes) => {
        // Each process changes entries of its own: its last change of each is what must be found.
        const work = members.map(async ({ decisions }, index) => {
          for (const { by, ...change } of changes)
            if (by === index) await make(change, `p${index}`, decisions, expected)
        })
        await Promise.all(work)

        for (const { decisions } of members) await decisions.refresh()
        const found = members.map(({ decisions }) => namesIn(decisions))
        expect(found).toEqual(members.map(() => [...expected].toSorted()))
        const texts = await Promise.all(members.map(async (member) => member.texts()))
        expect(new Set(texts.flat()).size).toBe(1)
      }),
      { numRuns: lawRuns(300, 0.34) },
    )
  }, 240_000)

  test('a change that another process was faster than is made to what that one decided', async () => {
    await using hub = await Hub.open(server)
    const other = await hub.join()
    let conflicts = 0
    const member = await hub.join((text) => ({
      read: async () => text.read(),
      async swap(version, after) {
        if (conflicts < 3) await setDisabled(other.decisions, TEAM, `theirs-${(conflicts += 1)}`, true)
        return text.swap(version, after)
      },
    }))

    const isNew = await setDisabled(member.decisions, TEAM, 'ours', true)

    expect([isNew, conflicts]).toEqual([true, 3])
    expect(namesIn(member.decisions)).toEqual(['ours', 'theirs-1', 'theirs-2', 'theirs-3'])
    expect(await member.decisions.refresh()).toBe(true)
    expect(await member.decisions.refresh()).toBe(false)
    await other.decisions.refresh()
    expect(other.decisions.outOfService).toEqual(member.decisions.outOfService)
  })

  test('a database that lost the last decisions gets them back from a process that has them', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await setDisabled(one.decisions, TEAM, 'first', true)
    await other.decisions.refresh()
    const goBack = await hub.copy()
    await setDisabled(one.decisions, TEAM, 'second', true)
    await goBack()

    expect(await other.decisions.refresh()).toBe(false)
    expect(await one.decisions.refresh()).toBe(false)
    expect(await other.decisions.refresh()).toBe(true)

    expect(namesIn(other.decisions)).toEqual(['first', 'second'])
    expect(namesIn(one.decisions)).toEqual(['first', 'second'])
  })

  test('a change in a database that lost the last decisions is made to those of the process that makes it', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await setDisabled(one.decisions, TEAM, 'first', true)
    const goBack = await hub.copy()
    await setDisabled(one.decisions, TEAM, 'second', true)
    await goBack()

    expect(await setDisabled(one.decisions, TEAM, 'second', true)).toBe(false)
    await other.decisions.refresh()
    expect(namesIn(other.decisions)).toEqual(['first', 'second'])
    await setDisabled(one.decisions, TEAM, 'third', true)
    await other.decisions.refresh()
    expect(namesIn(other.decisions)).toEqual(['first', 'second', 'third'])
  })

  test('what another process decided in a database that lost some counts, whatever was lost', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await setDisabled(one.decisions, TEAM, 'first', true)
    await other.decisions.refresh()
    const [earlier] = await hub.database.query('copy', "SELECT * FROM skillsyncd.document WHERE name = 'decisions'")
    for (const path of ['second', 'third', 'fourth']) await setDisabled(one.decisions, TEAM, path, true)
    const back = 'UPDATE skillsyncd.document SET version = $1, bytes = $2'
    await hub.database.query('go back', back, [earlier?.['version'], earlier?.['bytes']])
    await hub.database.query('go back', 'UPDATE skillsyncd.present SET version = $1', [earlier?.['version']])

    // A process that had not seen what was lost decides before one that had.
    await setDisabled(other.decisions, TEAM, 'other', true)
    await one.decisions.refresh()

    expect(namesIn(one.decisions)).toEqual(['first', 'other'])
    expect(namesIn(other.decisions)).toEqual(['first', 'other'])
  })

  test('a process is notified once of what others changed, and not of what it did itself', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await setDisabled(one.decisions, TEAM, 'a', true)
    const before = one.decisions.outOfService

    const refreshed = [await one.decisions.refresh(), await other.decisions.refresh(), await other.decisions.refresh()]

    expect(refreshed).toEqual([false, true, false])
    expect(one.decisions.outOfService).toBe(before)
    expect(await setDisabled(other.decisions, TEAM, 'a', true)).toBe(false)
  })

  test('a change that another process takes back is taken back here, although its text was here before', async () => {
    await using hub = await Hub.open(server)
    const [one, other] = [await hub.join(), await hub.join()]
    await setDisabled(other.decisions, TEAM, 'a', true)
    await one.decisions.refresh()
    await setDisabled(one.decisions, TEAM, 'b', true)

    await setDisabled(other.decisions, TEAM, 'b', false)

    expect([await one.decisions.refresh(), namesIn(one.decisions)]).toEqual([true, ['a']])
  })

  test('while the database is away, nothing is changed, what was decided holds, and a change after it is made', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join()
    await setDisabled(member.decisions, TEAM, 'a', true)
    const before = await member.texts()

    await server.stop()
    const failed = await Promise.allSettled([
      setDisabled(member.decisions, TEAM, 'b', true),
      setHold(member.decisions, TEAM, HELD),
    ])
    const refreshing = await member.decisions.refresh().catch((error: unknown) => error)
    const held = [namesIn(member.decisions), member.decisions.of(TEAM), member.decisions.isFailing]
    const after = await member.texts()
    const again = await hub.join(undefined, member.path)
    await server.start()

    expect(failed.map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
      expect.stringContaining('the database cannot be reached, and nothing was changed'),
      expect.stringContaining('the database cannot be reached, and nothing was changed'),
    ])
    expect(refreshing).toMatchObject({ code: 'store-failed' })
    expect([held, after]).toEqual([[['a'], {}, false], before])
    expect([namesIn(again.decisions), again.decisions.areUnknown]).toEqual([['a'], false])
    expect(await setDisabled(again.decisions, TEAM, 'b', true)).toBe(true)
    await member.decisions.refresh()
    expect(namesIn(member.decisions)).toEqual(['a', 'b'])
  }, 120_000)

  test('a process that has no copy serves nothing until it has reached the database, and has one from then on', async () => {
    await using hub = await Hub.open(server)
    await server.stop()
    const member = await hub.join()
    const before = [member.decisions.areUnknown, await member.decisions.refresh().catch(() => 'away')]
    await server.start()

    const isNew = await member.decisions.refresh()
    await server.stop()
    const again = await hub.join(undefined, member.path)
    await server.start()

    expect([before, isNew]).toEqual([[true, 'away'], true])
    expect([member.decisions.areUnknown, again.decisions.areUnknown]).toEqual([false, false])
  }, 120_000)

  test.each([
    ['no JSON', Buffer.from('{"rules":')],
    ['other JSON', Buffer.from('{"disabled":{"team":["a"]}}')],
    ['a decision that is none', Buffer.from('{"rules":[{"effect":"stay","on":"team"}]}')],
    ['nothing', Buffer.alloc(0)],
    ['no text', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('a row that holds %s is an error, and disables no fewer skills', async (_, bytes) => {
    await using hub = await Hub.open(server)
    const [member, other] = [await hub.join(), await hub.join()]
    await setDisabled(member.decisions, TEAM, 'a', true)
    await hub.edit(bytes)

    const failures = await Promise.all(
      [member.decisions.refresh(), setDisabled(other.decisions, TEAM, 'b', true)].map(async (done) =>
        done.catch((error: unknown) => String(error)),
      ),
    )
    const started = await hub.join(undefined, member.path)
    const blank = await hub.join()

    expect(failures).toEqual([expect.stringContaining('damaged'), expect.stringContaining('damaged')])
    expect(namesIn(member.decisions)).toEqual(['a'])
    for (const { decisions } of [member, other]) expect(() => decisions.of(TEAM)).toThrow('DELETE FROM')
    expect([namesIn(started.decisions), started.decisions.isFailing, started.decisions.areUnknown]).toEqual([
      ['a'],
      true,
      false,
    ])
    expect(blank.decisions.areUnknown).toBe(true)
    expect(await hub.bytes()).toEqual(bytes)
  })

  test('a damaged row that is removed gets what a running process holds', async () => {
    await using hub = await Hub.open(server)
    const [member, blank] = [await hub.join(), await hub.join()]
    await setDisabled(member.decisions, TEAM, 'a', true)
    await hub.edit(Buffer.from('?'))
    await expect(member.decisions.refresh()).rejects.toThrow('damaged')
    await expect(blank.decisions.refresh()).rejects.toThrow('damaged')
    await hub.database.query('remove', "DELETE FROM skillsyncd.document WHERE name = 'decisions'")

    await member.decisions.read()
    await blank.decisions.refresh()

    expect([member.decisions.isFailing, blank.decisions.isFailing]).toEqual([false, false])
    expect([namesIn(member.decisions), namesIn(blank.decisions)]).toEqual([['a'], ['a']])
  })

  test('decisions that the database lost come from a process that knew them, and from no old folder', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    const member = await hub.join(undefined, folder.path)
    await setDisabled(member.decisions, TEAM, 'old', true)
    await using old = await temporaryFolder()
    await cp(folder.path, old.path, { recursive: true })
    await setDisabled(member.decisions, TEAM, 'old', false)
    await hub.database.query('remove', "DELETE FROM skillsyncd.document WHERE name = 'decisions'")

    const [back, blank] = [await hub.join(undefined, old.path), await hub.join()]
    const attempts = [back.decisions.refresh(), blank.decisions.refresh(), setDisabled(back.decisions, TEAM, 'b', true)]
    const refused = await Promise.allSettled(attempts)

    const reason = { message: expect.stringMatching(/has lost them.*INSERT INTO/) }
    for (const one of refused) expect(one).toMatchObject({ status: 'rejected', reason })
    expect(await hub.bytes()).toBeUndefined()
    expect(blank.decisions.areUnknown).toBe(true)
    expect(await member.decisions.refresh()).toBe(false)
    for (const each of [back, blank]) expect(await each.decisions.refresh()).toBe(true)
    expect([namesIn(back.decisions), namesIn(blank.decisions)]).toEqual([[], []])
  })

  test('lost decisions come from the files of a process if an operator says so', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    const member = await hub.join(undefined, folder.path)
    await setDisabled(member.decisions, TEAM, 'a', true)
    await hub.database.query('remove', "DELETE FROM skillsyncd.document WHERE name = 'decisions'")
    const again = await hub.join(undefined, folder.path)
    const failed = await again.decisions.refresh().then(String, String)

    const [, mend = ''] = /(INSERT INTO .*)$/.exec(failed) ?? []
    await hub.database.query('mend', mend)

    await again.decisions.refresh()
    const blank = await hub.join()
    expect([namesIn(again.decisions), namesIn(blank.decisions)]).toEqual([['a'], ['a']])
  })

  test('a hub that moves to a database keeps what was decided, and a process without decisions takes none from it', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    {
      using alone = await Store.open(folder.path)
      await setDisabled(alone.decisions, TEAM, 'a', true)
      await setHold(alone.decisions, TEAM, HELD)
    }
    const blank = await hub.join()

    const moved = await hub.join(undefined, folder.path)
    await blank.decisions.refresh()

    for (const { decisions } of [moved, blank])
      expect([namesIn(decisions), decisions.of(TEAM)]).toEqual([['a'], { hold: HELD }])
  })

  test('what the database has wins over files that differ: from before it was there, edited by hand, lost or damaged', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join()
    await setDisabled(member.decisions, TEAM, 'a', true)
    const text = await member.texts()
    const file = join(member.path, 'decisions.json')

    for (const edited of [JSON.stringify({ rules: [stayRule(sourceId('other'), HELD)] }), '{', undefined]) {
      for (const name of FILES) {
        await rm(join(member.path, name))
        if (edited !== undefined) await writeFile(join(member.path, name), edited)
      }
      const again = await hub.join(undefined, member.path)
      expect([namesIn(again.decisions), again.decisions.isFailing]).toEqual([['a'], false])
      expect([again.decisions.loss, again.decisions.damage]).toEqual([undefined, undefined])
      expect(await again.texts()).toEqual(text)
    }
    await rm(file)
    expect([await member.decisions.mend(), await member.decisions.mend()]).toEqual([true, false])
    expect(await member.texts()).toEqual(text)
  })

  test('files are written again from what a process holds, also while the database has damaged decisions', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join()
    await setDisabled(member.decisions, TEAM, 'a', true)
    const text = await member.texts()
    await hub.edit(Buffer.from('{'))
    await expect(member.decisions.refresh()).rejects.toMatchObject({ code: 'store-failed' })
    await rm(join(member.path, 'decisions.json'))

    const mended = [await member.decisions.mend(), await member.decisions.mend()]

    expect(member.decisions.isFailing).toBe(true)
    expect(mended).toEqual([true, false])
    expect(await member.texts()).toEqual(text)
  })

  test('of decisions whose files are both lost, those in the record move to the database', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    {
      using alone = await Store.open(folder.path)
      await setDisabled(alone.decisions, TEAM, 'a', true)
    }
    for (const name of FILES.slice(0, 2)) await rm(join(folder.path, name))

    await hub.join(undefined, folder.path)

    expect(namesIn((await hub.join()).decisions)).toEqual(['a'])
  })

  test('files that cannot be read put nothing into an empty database, and what another process decides is taken over', async () => {
    await using hub = await Hub.open(server)
    await using folder = await temporaryFolder()
    {
      using alone = await Store.open(folder.path)
      for (const name of FILES) await writeFile(join(alone.folder.path, name), '{')
    }
    const member = await hub.join(undefined, folder.path)
    const before = [await hub.bytes(), member.decisions.areUnknown]

    await setDisabled((await hub.join()).decisions, TEAM, 'a', true)
    const isNew = await member.decisions.refresh()

    expect(before).toEqual([undefined, true])
    expect([isNew, namesIn(member.decisions), member.decisions.areUnknown]).toEqual([true, ['a'], false])
  })

  test('a disk that does not take the copy keeps no decision out of force, and gets it later', async () => {
    await using hub = await Hub.open(server)
    const [member, other] = [await hub.join(), await hub.join()]
    const file = join(member.path, 'decisions.json')
    await rm(file)
    await mkdir(join(file, 'in the way'), { recursive: true })

    await setDisabled(member.decisions, TEAM, 'a', true)
    await setDisabled(other.decisions, TEAM, 'b', true)
    const isNew = await member.decisions.refresh()
    const before = [namesIn(member.decisions), member.decisions.unwritten?.code]
    await rm(file, { recursive: true })
    await member.decisions.refresh()

    expect([isNew, before]).toEqual([true, [['a', 'b'], 'store-failed']])
    expect(member.decisions.unwritten).toBeUndefined()
    expect(await member.texts()).toEqual(await other.texts())
  })

  test('a change whose answer is lost is not said to be undone, and is found by the next refresh', async () => {
    await using hub = await Hub.open(server)
    const member = await hub.join((text) => ({
      read: async () => text.read(),
      async swap(version, after) {
        await text.swap(version, after)
        throw new SyncError('store-failed', 'Cannot write "decisions": the connection is gone')
      },
    }))

    const failed = setDisabled(member.decisions, TEAM, 'a', true)

    await expect(failed).rejects.toThrow('check if they have the change before you repeat it')
    expect([namesIn(member.decisions), await member.decisions.refresh(), namesIn(member.decisions)]).toEqual([
      [],
      true,
      ['a'],
    ])
  })
})

const CHANGE = fc.record({
  by: fc.nat({ max: 2 }),
  entry: fc.nat({ max: 4 }),
  part: fc.constantFrom('disabled', 'held'),
  isOn: fc.boolean(),
})

/** Makes a change, and notes its result among the names that are expected of all processes. */
async function make(
  { entry, part, isOn }: Readonly<{ entry: number; part: string; isOn: boolean }>,
  owner: string,
  decisions: DecisionStore,
  expected: Set<string>,
): Promise<void> {
  const name = `${part}-${owner}-${entry}`
  if (part === 'disabled') await setDisabled(decisions, TEAM, name, isOn)
  else await setHold(decisions, sourceId(name), isOn ? HELD : undefined)
  if (isOn) expected.add(name)
  else expected.delete(name)
}

/** The disabled skills and the sources with a decision. */
function namesIn(decisions: DecisionStore): string[] {
  return [...disabledPaths(decisions, TEAM), ...[...decisions.known.keys()].filter((id) => id !== TEAM)].toSorted()
}

interface Member {
  readonly path: string
  readonly decisions: DecisionStore
  /** The texts of its files. */
  texts(): Promise<readonly string[]>
}

/** Processes that share one database, each with a state folder. */
class Hub extends HubDatabase {
  static async open(server: Postgres): Promise<Hub> {
    return new Hub(await HubDatabase.create(server))
  }

  /** Starts a process, which reaches the database if it can. */
  async join(around = (text: SharedText): SharedText => text, path?: string): Promise<Member> {
    const at = path ?? this.opened.use(await temporaryFolder()).path
    const { decisions } = this.opened.use(await Store.open(at))
    decisions.shareWith(around(documentText(new SharedDocuments(this.database), 'decisions')))
    for (const step of [async () => decisions.read(), async () => decisions.refresh()])
      await step().catch((error: unknown) => expect(error).toMatchObject({ code: 'store-failed' }))
    const texts = async (): Promise<string[]> =>
      Promise.all(FILES.map(async (name) => readFile(join(at, name), 'utf8')))
    return { path: at, decisions, texts }
  }

  /** Changes the row as an operator would. */
  async edit(bytes: Buffer): Promise<void> {
    await this.database.query('edit', "UPDATE skillsyncd.document SET bytes = $1 WHERE name = 'decisions'", [bytes])
  }

  /** Copies the decisions. Returns a function that brings the database back to the copy. */
  async copy(): Promise<() => Promise<void>> {
    const text = "SELECT version, bytes FROM skillsyncd.document WHERE name = 'decisions'"
    const [row] = await this.database.query('copy', text)
    return async () => {
      const back = 'UPDATE skillsyncd.document SET version = $1, bytes = $2'
      await this.database.query('go back', back, [row?.['version'], row?.['bytes']])
      await this.database.query('go back', 'UPDATE skillsyncd.present SET version = $1', [row?.['version']])
    }
  }

  async bytes(): Promise<unknown> {
    const [row] = await this.database.query('read', "SELECT bytes FROM skillsyncd.document WHERE name = 'decisions'")
    return row?.['bytes'] ?? undefined
  }
}
