import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { skill } from '../../../support/http/marketplace.ts'
import { Home } from '../../../support/process/program.ts'

const NAME = 'skills.example.com/channel'

test('without a daemon publish --to writes the channel by itself, and says what it did', async () => {
  await using hub = await Hub.create()

  const first = await hub.home.command('hub', 'publish', '--to', hub.out)
  const again = await hub.home.command('hub', 'publish', '--to', hub.out)

  const [origin, size] = (await readFile(join(hub.out, 'checkpoint'), 'utf8')).split('\n')
  expect(first).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/: entry 1 is new, \d+ new objects written\n$/),
  })
  expect(again).toMatchObject({
    status: 0,
    stdout: `${hub.out}: up to date at entry 1, 0 new objects written\n`,
  })
  expect([origin, size]).toEqual([NAME, '1'])
})

test('a pack has a channel of its own, with its files alone', async () => {
  await using hub = await Hub.create()

  const done = await hub.home.command('hub', 'publish', '--to', hub.out, '--pack', 'writing', '--json')

  const checkpoint = await readFile(join(hub.out, 'checkpoint'), 'utf8')
  const { channels } = JSON.parse(done.stdout)
  expect(channels).toEqual([{ to: hub.out, pack: 'writing', entries: 1, objects: expect.any(Number), isNew: true }])
  expect(checkpoint.split('\n', 1)).toEqual([`${NAME}/writing`])
  const text = await textBelow(join(hub.out, 'object'))
  expect(text).toContain('name: write-letter')
  expect(text).not.toContain('name: tidy')
})

test('a running daemon writes the folder that a command names, and those of the configuration after each change', async () => {
  await using hub = await Hub.create({ publish: ['publish:', '  - to: kept'] })
  const daemon = hub.home.start('start')
  await daemon.line()

  const done = await hub.home.command('hub', 'publish', '--to', hub.out, '--json')
  await hub.write('added', skill('added'))
  await hub.home.command('sync')
  const kept = join(hub.home.path, 'config/skillsyncd/kept')
  const channelsOf = async () => JSON.parse((await hub.home.command('status', '--json')).stdout).channels
  // A folder has the objects before the status has the entry.
  await expect.poll(channelsOf).toEqual([
    { isCurrent: true, entries: 2 },
    // Its skills are the same. A follower must not see that others changed.
    { pack: 'writing', isCurrent: true, entries: 1 },
    { to: kept, isCurrent: true, entries: 2 },
  ])
  const status = await hub.home.command('status')

  expect(JSON.parse(done.stdout).channels).toMatchObject([{ to: hub.out, entries: 1 }])
  expect(await textBelow(hub.out)).not.toContain('name: added')
  expect(await textBelow(kept)).toContain('name: added')
  expect(status.stdout).toContain('channel at /channel/: up to date at entry 2\n')
  expect(status.stdout).toContain('channel of the pack writing at /channels/writing/: up to date at entry 1\n')
  expect(status.stdout).toContain(`channel in ${kept}: up to date at entry 2\n`)
})

test('a folder with another log is left as it is, and the status says why', async () => {
  await using hub = await Hub.create({ publish: ['publish:', '  - to: kept'] })
  const kept = join(hub.home.path, 'config/skillsyncd/kept')
  await mkdir(kept)
  await writeFile(join(kept, 'checkpoint'), 'another.example/log\n1\nAAAA\n\n— another.example/log AAAA\n')

  const daemon = hub.home.start('start')
  await daemon.line()
  const done = await hub.home.command('hub', 'publish', '--to', kept)
  await expect
    .poll(async () => (await hub.home.command('status')).stdout)
    .toContain(`channel in ${kept}: log-unsigned since`)

  expect(done).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('of its checkpoint, ') })
  expect(await readdir(kept)).toEqual(['checkpoint'])
})

test.each([
  [['--to', '/nowhere', '--git', 'https://git.example.com/o.git'], 2, '--to goes with none of'],
  [['--to', '/nowhere', '--branch', 'main'], 2, '--to goes with none of'],
  [['--to', '/nowhere', '--dry-run'], 2, '--to goes with none of'],
  [['--to', '/nowhere', '--pack', 'none'], 1, 'no pack is called "none"'],
  [['--pack', 'writing'], 2, '--branch goes with --git, and --pack with --git or --to'],
])('publish %j ends with %i: %s', async (args, status, message) => {
  await using hub = await Hub.create()

  expect(await hub.home.command('hub', 'publish', ...args)).toMatchObject({
    status,
    stdout: '',
    stderr: expect.stringContaining(message),
  })
})

test('nothing is written without a channel, or before anything is served', async () => {
  await using bare = await Hub.create({ channel: [] })
  await using early = await Hub.create({ synced: false })

  const without = await bare.home.command('hub', 'publish', '--to', bare.out)
  const tooEarly = await early.home.command('hub', 'publish', '--to', early.out)

  expect(without).toMatchObject({ status: 1, stderr: expect.stringContaining('the configuration has no `channel`') })
  expect(tooEarly).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing is served yet') })
  await expect(readdir(bare.out)).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(readdir(early.out)).rejects.toMatchObject({ code: 'ENOENT' })
})

interface HubOptions {
  readonly channel?: readonly string[]
  readonly publish?: readonly string[]
  readonly synced?: boolean
}

/** A home with skills in a folder, and a channel that they are published in. */
class Hub implements AsyncDisposable {
  readonly home: Home
  /** A folder that is not there yet. */
  readonly out: string
  readonly #drafts: string

  private constructor(home: Home) {
    this.home = home
    this.out = join(home.path, 'out')
    this.#drafts = join(home.path, 'drafts')
  }

  static async create({ channel = CHANNEL, publish = [], synced = true }: HubOptions = {}): Promise<Hub> {
    const hub = new Hub(await Home.create())
    const { home } = hub
    for (const name of ['write-letter', 'tidy']) await hub.write(name, skill(name))
    const key = join(home.path, 'config/skillsyncd/channel.key')
    expect(await home.command('hub', 'channel', 'new-key', NAME, '--out', key)).toMatchObject({ status: 0 })
    const pack = ['packs:', '  - id: writing', '    include: [{ path: write-* }]']
    await home.configure({ drafts: [`path: ${join(home.path, 'drafts')}`] }, [...channel, ...pack, ...publish])
    if (synced) expect(await home.command('sync')).toMatchObject({ status: 0 })
    return hub
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(join(this.#drafts, name), { recursive: true })
    await writeFile(join(this.#drafts, name, 'SKILL.md'), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
  }
}

const CHANNEL = [`channel: { name: ${NAME}, key: { file: channel.key } }`]

/** The content of all files below a folder. */
async function textBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'utf8')))).join('\n')
}
