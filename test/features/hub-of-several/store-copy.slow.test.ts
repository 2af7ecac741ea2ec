import { appendFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { isAbortError } from '../../../src/base/async/abort-error.ts'
import { copyFromDatabase, copyToDatabase } from '../../../src/features/hub-of-several/state-copy.ts'
import { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { SharedStore } from '../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { Home } from '../../support/process/program.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, publishSamples } from '../../sync/store/samples.ts'

describePostgres('skillsyncd store copy', (server) => {
  /** A hub that is stopped, with three generations, a disabled skill and a token, and an empty database. */
  async function stoppedHub(): Promise<{ readonly home: Home; readonly url: string }> {
    const home = await Home.create()
    await configure(home, false)
    for (const name of ['one', 'two', 'three']) {
      await putSkill(home, name)
      await expectDone(home.command('sync'))
    }
    await expectDone(home.command('disable', 'team/two'))
    await expectDone(home.command('hub', 'token', 'add', 'ada'))
    await configure(home, true)
    const url = await server.createDatabase()
    home.env['DATABASE'] = url
    return { home, url }
  }

  test('a hub moves into a database and back, and has all that it had', async () => {
    const { home } = await stoppedHub()
    const back = join(home.path, 'back')
    const into = await home.command('store', 'copy', '--to', 'postgres', '--json')
    const outOf = await home.command('store', 'copy', '--from', 'postgres', '--json', '--state', back)

    const copied = JSON.parse(into.stdout)
    expect(copied).toMatchObject({
      leftOut: [],
      documents: expect.arrayContaining(['decisions', 'tokens', 'sources/team.json']),
    })
    expect(copied.generations.length).toBeGreaterThan(1)
    expect(JSON.parse(outOf.stdout)).toMatchObject({
      generations: copied.generations,
      objects: copied.objects,
      documents: expect.arrayContaining(copied.documents),
    })
    await configure(home, false)
    for (const words of [
      ['list', '--json'],
      ['log', '--json'],
      ['hub', 'token', 'list', '--json'],
      ['show', 'team/three', '--json'],
    ])
      expect((await home.command(...words, '--state', back)).stdout, words.join(' ')).toBe(
        (await home.command(...words)).stdout,
      )
    for (const file of ['decisions.json', 'tokens.json', 'sources/team.json'])
      expect(await readFile(join(back, file), 'utf8'), file).toBe(await readFile(join(home.state, file), 'utf8'))
    expect(await home.command('verify', '--state', back)).toMatchObject({ status: 0 })
    await putSkill(home, 'four')
    await expectDone(home.command('sync', '--state', back))
    expect((await home.command('list', '--state', back)).stdout).toContain('four')
  })

  test('the log of a channel goes both ways, and one that differs is not overwritten', async () => {
    const { home } = await stoppedHub()
    await configure(home, true, 'channel: { name: skills.example.com/channel, key: { env: KEY } }')
    const file = join(home.state, 'logs', 'channel.jsonl')
    await writeFile(file, '{"a":1}\n{"b":2}\n{"half')
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))

    await rm(file)
    await expectDone(home.command('store', 'copy', '--from', 'postgres'))
    const whole = await readFile(file, 'utf8')
    await appendFile(file, '{"c":3}\n')
    const end = await home.command('store', 'copy', '--from', 'postgres')

    expect(whole).toBe('{"a":1}\n{"b":2}\n')
    expect(end.stderr).toContain('it is not the beginning of the log in the database')
    expect(await readFile(file, 'utf8')).toBe('{"a":1}\n{"b":2}\n{"c":3}\n')
  })

  test('the log of a pack that is not configured goes both ways, and none is left out without a channel', async () => {
    const { home, url } = await stoppedHub()
    const file = join(home.state, 'logs', 'channel.gone.jsonl')
    await writeFile(file, '{"a":1}\n')
    const nameless = await home.command('store', 'copy', '--to', 'postgres')
    await configure(home, true, 'channel: { name: skills.example.com/channel, key: { env: KEY } }')
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using database = await PostgresDatabase.open({ url })
    const other = 'INSERT INTO skillsyncd.log_entry VALUES ($1, 0, $2)'
    for (const name of ['skills.example.com/channel/../gone', 'example.org/other'])
      await database.query('add', other, [name, '{}'])
    await rm(file)
    await configure(home, true)
    const namelessBack = await home.command('store', 'copy', '--from', 'postgres')
    await configure(home, true, 'channel: { name: skills.example.com/channel, key: { env: KEY } }')
    await expectDone(home.command('store', 'copy', '--from', 'postgres'))

    expect(nameless.stderr).toContain('Cannot copy the log "channel.gone.jsonl": the configuration has no channel')
    expect(namelessBack.stderr).toContain('the configuration has no channel')
    expect(await readFile(file, 'utf8')).toBe('{"a":1}\n')
    expect(await readdir(join(home.state, 'logs'))).toEqual(['channel.gone.jsonl'])
  })

  test('a copy that was ended goes on at the objects that are missing', async () => {
    const { home, url } = await stoppedHub()
    using store = await Store.openExisting(home.state)
    if (store === undefined) throw new Error('There is no store')
    await using shared = SharedStore.at({ url })
    const over = new AbortController()
    const first = copyToDatabase({
      store,
      shared,
      logs: { nameOf: () => undefined, fileOf: () => undefined },
      signal: over.signal,
      onProgress: (done) => {
        if (done === 1) over.abort()
      },
    })
    await expect(first).rejects.toSatisfy(isAbortError)
    expect(await (await shared.open()).head()).toBeUndefined()

    const end = await home.command('store', 'copy', '--to', 'postgres', '--json')

    const [all] = await shared.database.query('count', 'SELECT count(*) FROM skillsyncd.object')
    const { objects } = JSON.parse(end.stdout)
    expect(objects).toBeGreaterThan(0)
    expect(objects).toBeLessThan(Number(all?.['count']))
    expect(await (await shared.open()).head()).toEqual(await store.objects.head())
  })

  test('the records go into the database in few statements, and all of them come back', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(join(folder.path, 'full'))
    const held = await publishSamples(store, new Date(), numbered(1))
    for (let number = 2; number <= 120; number += 1) await store.generations.publish([held], new Date())
    await using shared = SharedStore.at({ url: await server.createDatabase() })
    await shared.open()
    for (const statement of COUNT_WRITES) await shared.database.query('count', statement)
    const logs = { nameOf: () => undefined, fileOf: () => undefined }
    const copy = { shared, logs, signal: AbortSignal.timeout(60_000), onProgress: () => {} }

    await copyToDatabase({ ...copy, store })
    using back = await Store.open(join(folder.path, 'back'))
    await copyFromDatabase({ ...copy, store: back })

    const [counted] = await shared.database.query('count', 'SELECT count(*) FROM skillsyncd.counted')
    expect(Number(counted?.['count'])).toBeLessThan(10)
    const numbers = await store.generations.records.numbers()
    expect(numbers).toHaveLength(120)
    for (const number of numbers)
      expect(await back.generations.records.read(number)).toEqual(await store.generations.records.read(number))
  })

  test('a folder is not filled from a database that has no generation', async () => {
    const { home } = await stoppedHub()

    const end = await home.command('store', 'copy', '--from', 'postgres', '--state', join(home.path, 'back'))

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toMatch(/Cannot fill ".*back": the database has no generation\n {2}Name the database of the hub/)
  })

  test('a database that has a hub is not overwritten', async () => {
    const { home } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))

    const end = await home.command('store', 'copy', '--to', 'postgres')

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toMatch(/Cannot fill the database: it has generation \d+ already; name an empty one/)
  })

  test('decisions without a generation count as a hub', async () => {
    const { home, url } = await stoppedHub()
    await using shared = SharedStore.at({ url })
    await shared.open()
    await shared.documents.swap('decisions', 0, Buffer.from('{}'))

    const end = await home.command('store', 'copy', '--to', 'postgres')

    expect(end.stderr).toContain('Cannot fill the database: it has decisions, tokens or records already')
  })

  test('a folder with another generation is not overwritten', async () => {
    const { home } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await configure(home, false)
    await putSkill(home, 'four')
    await expectDone(home.command('sync'))
    await configure(home, true)

    const end = await home.command('store', 'copy', '--from', 'postgres')

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toContain('which the database lacks; name an empty folder with --state')
  })

  test.each([['--to'], ['--from']])('%s is refused while a process of the hub runs', async (way) => {
    const { home, url } = await stoppedHub()
    if (way === '--from') await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using database = await PostgresDatabase.open({ url })
    await database.query('run', RUNNING)

    const end = await home.command('store', 'copy', way, 'postgres')

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toContain('Cannot copy while the hub runs: the database was used by a process on "hub-1"')
  })

  test('an object that was changed in the database is not copied', async () => {
    const { home, url } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using database = await PostgresDatabase.open({ url })
    await database.query('damage', "UPDATE skillsyncd.object SET bytes = bytes || 'x'")
    const other = join(home.path, 'other')

    const end = await home.command('store', 'copy', '--from', 'postgres', '--state', other)

    expect(end).toMatchObject({ status: 1, stdout: '' })
    using store = await Store.openExisting(other)
    expect(await store?.objects.head()).toBeUndefined()
  })

  test('an older generation that the database has lost is left out, and named', async () => {
    const { home, url } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using database = await PostgresDatabase.open({ url })
    const oldest = 'SELECT generation FROM skillsyncd.head ORDER BY sequence LIMIT 1'
    await database.query('damage', `DELETE FROM skillsyncd.object WHERE digest = (${oldest})`)

    const end = await home.command('store', 'copy', '--from', 'postgres', '--state', join(home.path, 'other'))

    expect(end).toMatchObject({ status: 0 })
    expect(end.stdout).toContain('Generation 1 is damaged and was left out')
  })

  test('damaged decisions in the database are never taken for none', async () => {
    const { home, url } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using database = await PostgresDatabase.open({ url })
    await database.query('damage', "UPDATE skillsyncd.document SET bytes = 'x' WHERE name = 'decisions'")

    const end = await home.command('store', 'copy', '--from', 'postgres', '--state', join(home.path, 'other'))

    expect(end.stderr).toContain('Cannot copy the decisions: those of the database are damaged')
  })

  test('the name of a document leads to no other file', async () => {
    const { home, url } = await stoppedHub()
    await expectDone(home.command('store', 'copy', '--to', 'postgres'))
    await using shared = SharedStore.at({ url })
    for (const name of [
      '../escaped.json',
      'sources/../escaped.json',
      'sources/a/b.json',
      'format',
      'links.json',
      'sources/.json',
    ])
      await shared.documents.swap(name, 0, Buffer.from('{}'))
    const other = join(home.path, 'folder', 'other')
    await mkdir(dirname(other))

    const end = await home.command('store', 'copy', '--from', 'postgres', '--state', other, '--json')

    expect(end).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(end.stdout).documents).not.toContain('links.json')
    await expect(readFile(join(home.path, 'folder', 'escaped.json'))).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(readFile(join(other, 'escaped.json'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a state folder that a daemon writes is not copied', async () => {
    const { home } = await stoppedHub()
    await configure(home, false)
    const daemon = home.start('start')
    await daemon.line()
    await configure(home, true)

    const end = await home.command('store', 'copy', '--to', 'postgres')

    expect(end).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toMatch(/Cannot copy ".*": process \d+ \(skillsyncd start\) writes it; stop it first/)
  })
})

test.each([
  [[], 'store copy needs --to postgres or --from postgres'],
  [['--to', 'postgres', '--from', 'postgres'], 'store copy needs --to postgres or --from postgres'],
  [['--to', 'mysql'], 'store copy knows one store: postgres'],
  [['--to', 'postgres'], 'store copy needs a configuration with store.postgres'],
])('store copy %j is wrong: %s', async (words, message) => {
  await using home = await Home.create()
  await configure(home, false)

  const end = await home.command('store', 'copy', ...words)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain(message)
})

/** Each statement that writes records adds a row. */
const COUNT_WRITES = [
  'CREATE TABLE skillsyncd.counted (operation text)',
  `CREATE FUNCTION count_write() RETURNS trigger AS
    $$ BEGIN INSERT INTO skillsyncd.counted VALUES (TG_OP); RETURN NULL; END $$ LANGUAGE plpgsql`,
  `CREATE TRIGGER counting AFTER INSERT OR UPDATE OR DELETE ON skillsyncd.record
    FOR EACH STATEMENT EXECUTE FUNCTION count_write()`,
]

const RUNNING = `
  INSERT INTO skillsyncd.replica (id, name, program, started, seen, sequence, version)
  VALUES ('1', 'hub-1', '0.1.0', clock_timestamp(), clock_timestamp(), 0, 0)`

async function configure(home: Home, isShared: boolean, ...lines: readonly string[]): Promise<void> {
  const store = isShared ? ['store: { postgres: { url: { env: DATABASE } } }'] : []
  await home.configure({ team: [`path: ${join(home.path, 'skills')}`] }, [...store, ...lines])
}

async function putSkill(home: Home, name: string): Promise<void> {
  const folder = join(home.path, 'skills', name)
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'SKILL.md'),
    `---\nname: ${name}\ndescription: The skill ${name}.\n---\n\nText of ${name}.\n`,
  )
}

async function expectDone(ended: Promise<{ readonly status: number | null; readonly stderr: string }>): Promise<void> {
  const { status, stderr } = await ended
  expect(status, stderr).toBe(0)
}
