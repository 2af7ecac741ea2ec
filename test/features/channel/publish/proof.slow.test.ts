import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signerOf, verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { parseProof } from '../../../../src/sync/transparency-log/tlog-proof.ts'
import { faultsIn } from '../../../support/checks.ts'
import { skill } from '../../../support/http/marketplace.ts'
import { Home } from '../../../support/process/program.ts'
import { followed, followedWhole, NAME, publishedHub, writeSkill } from './proved.ts'

test('a proof of a hub is checked with the public key alone, and shows the skill, its source and its time', async () => {
  const { home, key, file } = await publishedHub()

  const exported = await home.command('hub', 'export', '--proof', file, 'drafts/tidy')
  const checked = await elsewhere('verify', '--proof', file, '--key', key)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(exported).toMatchObject({ status: 0, stdout: `${file}: entry 1, 1 skill\n`, stderr: '' })
  expect(checked).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining(`signed by ${key}\n`) })
  expect(checked.stdout).toMatch(/^entry 1 of 1 of the log skills\.example\.com\/channel, of 20/)
  expect(checked.stdout).toContain(`source drafts: file://${join(home.path, 'drafts')}, `)
  expect(checked.stdout).toMatch(/\nskill drafts\/tidy: tidy, served, digest sha256:[\da-f]{64}\n/)
  expect(checked.stdout).not.toContain('write-letter')
  expect(checked.stdout).not.toContain('source more')
  expect(JSON.parse(json.stdout)).toMatchObject({
    log: NAME,
    signedBy: [key],
    entry: { index: 0, at: expect.any(String), head: expect.stringMatching(/^[\da-f]{64}$/) },
    size: 1,
    whole: false,
    sources: [{ source: 'drafts' }],
    skills: [{ source: 'drafts', path: 'tidy', files: [{ path: 'SKILL.md' }] }],
    checks: [],
  })
})

test('without skills a proof shows all of them, and is the same file each time', async () => {
  const { home, key, file } = await publishedHub()

  await home.command('hub', 'export', '--proof', file)
  const first = await readFile(file, 'utf8')
  await home.command('hub', 'export', '--proof', file)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(await readFile(file, 'utf8')).toBe(first)
  expect(JSON.parse(json.stdout)).toMatchObject({
    whole: true,
    skills: [{ path: 'tidy' }, { path: 'write-letter' }, { source: 'more', path: 'extra' }],
  })
})

test('the proof of a pack is of the log of that pack, and knows no other skill', async () => {
  const { home, file } = await publishedHub()
  const { keys } = JSON.parse((await home.command('hub', 'channel', 'keys', '--json')).stdout)
  const { key } = keys.find(({ pack }: { readonly pack?: string }) => pack === 'writing')

  const exported = await home.command('hub', 'export', '--proof', file, '--pack', 'writing')
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')
  const absent = await home.command('hub', 'export', '--proof', file, '--pack', 'writing', 'tidy')

  expect(exported).toMatchObject({ status: 0 })
  expect(JSON.parse(json.stdout)).toMatchObject({ log: `${NAME}/writing`, skills: [{ path: 'write-letter' }] })
  expect(await readFile(file, 'utf8')).not.toContain('tidy')
  expect(absent).toMatchObject({ status: 1, stderr: expect.stringContaining('the channel has no skill "drafts/tidy"') })
})

test('a folder is compared with the skill that a proof shows', async () => {
  const { home, key, file } = await publishedHub()
  await home.command('hub', 'export', '--proof', file, 'tidy')
  const folder = join(home.path, 'copy')
  await mkdir(folder)
  await writeFile(join(folder, 'SKILL.md'), skill('tidy'))

  const same = await elsewhere('verify', '--proof', file, '--key', key, folder)
  await chmod(join(folder, 'SKILL.md'), 0o755)
  const executable = await elsewhere('verify', '--proof', file, '--key', key, folder)
  await writeFile(join(folder, 'SKILL.md'), skill('tidx'))
  await writeFile(join(folder, 'more.md'), 'more')
  const other = await elsewhere('verify', '--proof', file, '--key', key, folder)

  expect(executable).toMatchObject({ status: 3, stdout: expect.stringContaining('it is executable, and was not') })
  expect(same).toMatchObject({ status: 0, stdout: expect.stringMatching(/\nproved: nothing found\n$/) })
  expect(other).toMatchObject({ status: 3, stderr: '' })
  expect(other.stdout).toMatch(
    /^fail {2}folder-differs SKILL\.md: .+\n {8}→ .+\nfail {2}folder-differs more\.md: the channel does not have it\n/,
  )
})

test.each<[what: string, change: (file: ProofFile) => object, why: RegExp]>([
  ['another commit', (file) => changed(file, /"commit":"[\da-f]/, '"commit":"x'), /it lacks the object|does not show/],
  ['another time of its entry', withOtherEntry, /it does not show that the entry is at 0 of a log of 1/],
  ['an object less', (file) => ({ ...file, objects: file.objects.slice(1) }), /the entry names is not there/],
  [
    'an object more',
    (file) => ({ ...file, objects: [...file.objects, '{}'] }),
    /an object that its entry does not lead to/,
  ],
  [
    'a skill more',
    (file) => ({ ...file, skills: [...file.skills, { source: 'drafts', path: 'x' }] }),
    /not show the skill/,
  ],
  ['no names, as if it had all skills', (file) => ({ ...file, skills: undefined }), /it lacks the object/],
  ['another form', (file) => ({ ...file, format: 'skillsyncd-proof@v2' }), /it is no proof of this version/],
  [
    'no signature',
    (file) => ({ ...file, proof: file.proof.slice(0, file.proof.lastIndexOf('\n\n') + 2) }),
    /of its checkpoint/,
  ],
])('a proof with %s is refused', async (what, change, why) => {
  const { home, key, file } = await publishedHub()
  await home.command('hub', 'export', '--proof', file, 'tidy')
  const text = await readFile(file, 'utf8')
  const changedText = JSON.stringify(change(JSON.parse(text)))
  await writeFile(file, changedText)

  const checked = await elsewhere('verify', '--proof', file, '--key', key)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(checked, what).toMatchObject({ status: 3, stderr: '' })
  expect(checked.stdout).toMatch(why)
  expect(checked.stdout).toMatch(/^fail  proof-refused \S+: [^\n]+\n {8}→ [^\n]+\n1 check: 1 fault, 0 warnings\n$/)
  expect(faultsIn(json.stdout)).toMatchObject([{ check: 'proof-refused' }])
})

test('a proof is refused with another key of the same name', async () => {
  const { home, file } = await publishedHub()
  await home.command('hub', 'export', '--proof', file)
  const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', join(home.path, 'other.key'), '--json')
  const { key } = JSON.parse(made.stdout)

  expect(await elsewhere('verify', '--proof', file, '--key', key)).toMatchObject({
    status: 3,
    stdout: expect.stringContaining('no known key has signed it'),
  })
})

test.each([
  [['hub', 'export', 'tidy'], 2, 'Skills, --pack and --ring go with --proof'],
  [['hub', 'export', '--proof', 'x', '--format', 'spdx'], 2, '--proof goes with none of --format'],
  [['hub', 'export', '--proof', 'x', 'nothing'], 1, 'No skill is called "nothing"'],
  [['verify', '--key', 'x'], 2, '--key goes with --proof'],
  [['verify', '--proof', 'x'], 2, '--proof needs --key'],
  [['verify', '--proof', 'x', '--key', 'x'], 2, '--key is no public key of a log'],
])('%j ends with %i: %s', async (args, status, message) => {
  const { home } = await publishedHub()

  expect(await home.command(...args)).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(message) })
})

test('a proof that is not there is a failure, and a proof without end is refused', async () => {
  const { home, key, file } = await publishedHub()

  const absent = await home.command('verify', '--proof', file, '--key', key)
  const endless = await home.command('verify', '--proof', '/dev/zero', '--key', key)
  await writeFile(file, '['.repeat(2 ** 24 + 1))
  const large = await home.command('verify', '--proof', file, '--key', key)

  expect(absent).toMatchObject({ status: 1, stderr: expect.stringContaining('no such file') })
  expect(endless).toMatchObject({ status: 3, stdout: expect.stringContaining('it is not a file') })
  expect(large).toMatchObject({ status: 3, stdout: expect.stringContaining('over 16777216 bytes') })
})

test('nothing is proved before the log has an entry', async () => {
  const { home, file } = await publishedHub({ published: false })

  const early = await home.command('hub', 'export', '--proof', file)

  expect(early).toMatchObject({ status: 1, stderr: expect.stringContaining('has no entry yet') })
  await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' })
})

interface ProofFile {
  readonly format: string
  readonly proof: string
  readonly skills: readonly object[]
  readonly objects: readonly string[]
}

function changed(file: ProofFile, what: RegExp, by: string): object {
  return { ...file, objects: file.objects.map((text) => text.replace(what, by)) }
}

function withOtherEntry(file: ProofFile): object {
  const { extra = Buffer.of() } = parseProof(file.proof)
  const entry = Buffer.from(extra).toString().replace('"at":"20', '"at":"19')
  return { ...file, proof: file.proof.replace(/^extra .*$/m, `extra ${Buffer.from(entry).toString('base64')}`) }
}

/** Runs a command in a home that has neither a configuration nor a state folder. */
async function elsewhere(...args: readonly string[]) {
  const home = await Home.create()
  return home.command(...args)
}

test('a follower proves what it serves without the hub, and names a skill as it does', async () => {
  const pair = await followed()
  await rm(pair.out, { recursive: true })

  const exported = await pair.follower.command('hub', 'export', '--proof', pair.file, 'hub/drafts/tidy')
  const json = await elsewhere('verify', '--proof', pair.file, '--key', pair.key, '--json')

  expect(exported).toMatchObject({ status: 0, stdout: `${pair.file}: entry 1, 1 skill\n`, stderr: '' })
  expect(JSON.parse(json.stdout)).toMatchObject({ log: NAME, skills: [{ source: 'drafts', path: 'tidy' }] })
})

test('a follower proves an entry that is not the newest by the tiles of the folder', async () => {
  const pair = await followed()
  await pair.follower.command('hold', 'hub', '--no-poll')
  const { commit } = await servedBy(pair.follower)
  await pair.publish('drafts/new')
  await pair.publish('drafts/newer')
  await pair.follower.command('status', '--upstream')

  const exported = await pair.follower.command('hub', 'export', '--proof', pair.file, 'tidy')
  const json = await elsewhere('verify', '--proof', pair.file, '--key', pair.key, '--json')

  expect(exported).toMatchObject({ status: 0, stdout: `${pair.file}: entry 1, 1 skill\n` })
  expect(JSON.parse(json.stdout)).toMatchObject({ entry: { index: 0, head: commit }, size: 3 })
})

test('verify --log reads the whole log of a follower and of a hub', async () => {
  const pair = await followed()
  await pair.publish('drafts/new')
  await pair.follower.command('sync')

  const ofFollower = await pair.follower.command('verify', '--log')
  const ofHub = await pair.home.command('verify', '--log', '--json')

  expect(ofFollower).toMatchObject({ status: 0, stderr: '' })
  expect(ofFollower.stdout).toMatch(
    /^hub: log skills\.example\.com\/channel: 2 entries, of 20\S+ to 20\S+; entry 2 is served, of 20\S+\n1 log: nothing found\n$/,
  )
  expect(ofHub).toMatchObject({ status: 0 })
  expect(JSON.parse(ofHub.stdout)).toMatchObject({
    logs: [
      { log: NAME, entries: 2, first: expect.any(String), last: expect.any(String) },
      { log: `${NAME}/writing`, pack: 'writing' },
    ],
    checks: [],
  })
})

test('verify --log of a follower finds a tile that was changed in the folder', async () => {
  const pair = await followed()
  const before = await pair.follower.command('verify', '--log', 'hub')
  await writeFile(join(pair.out, 'tile/0/000.p/1'), Buffer.alloc(32))

  const after = await pair.follower.command('verify', '--log', 'hub', '--json')

  expect(before).toMatchObject({ status: 0 })
  expect(after).toMatchObject({ status: 3 })
  expect(JSON.parse(after.stdout)).toMatchObject({
    logs: [{ source: 'hub', entries: 1 }],
    checks: [
      {
        check: 'content-refused',
        verdict: 'fail',
        subject: 'hub',
        message: expect.stringContaining('"tile/0/000.p/1"'),
      },
    ],
  })
})

test.each<[what: string, change: (pair: Published) => Promise<void>, code: string, why: string]>([
  [
    'a changed tile',
    async ({ kept }) => writeFile(join(kept, 'tile/0/000.p/2'), 'x'),
    'content-refused',
    'is not as it was',
  ],
  [
    'a bundle that is gone',
    async ({ kept }) => rm(join(kept, 'tile/entries/000.p/2')),
    'content-refused',
    'is not there',
  ],
  ['a log that lost an entry', async ({ log }) => cut(log), 'log-rolled-back', 'has 2 entries of the log'],
  ['a log with another entry', async ({ log }) => edit(log), 'log-forked', 'which are others than those'],
  [
    'another checkpoint',
    async ({ kept }) => writeFile(join(kept, 'checkpoint'), 'x\n\n'),
    'log-unsigned',
    'wrong form',
  ],
])('verify --log of a hub finds %s', async (_, change, code, why) => {
  const hub = await publishedHub({ to: 'kept' })
  const kept = join(hub.home.path, 'config/skillsyncd/kept')
  await writeSkill(hub.home, 'drafts/new')
  await hub.home.command('sync')
  await hub.home.command('hub', 'publish')
  const whole = await hub.home.command('verify', '--log')
  await change({ kept, log: join(hub.home.state, 'logs/channel.jsonl') })

  const checked = await hub.home.command('verify', '--log')

  expect(whole).toMatchObject({ status: 0, stdout: expect.stringMatching(/2 entries, of 20\S+ to 20\S+\n/) })
  expect(checked).toMatchObject({ status: 3, stderr: '' })
  expect(checked.stdout).toMatch(new RegExp(`^fail  ${code}: .*${why}`))
})

test('a running daemon whose log was changed behind it is found', async () => {
  const { home } = await publishedHub()
  const daemon = home.start('start')
  await daemon.line()
  await expect.poll(async () => (await home.command('status')).stdout).toContain('up to date at entry 1')
  const whole = await home.command('verify', '--log')
  await edit(join(home.state, 'logs/channel.jsonl'))

  const checked = await home.command('verify', '--log')

  expect(whole).toMatchObject({ status: 0 })
  expect(checked).toMatchObject({
    status: 3,
    stdout: expect.stringMatching(/^fail {2}log-forked: the daemon has 1 entry/),
  })
})

test.each([
  [['--log', '--deep'], 2, '--deep does not go with --log'],
  [['--log', '--proof', 'x'], 2, '--proof does not go with --log'],
  [['--log', 'drafts'], 1, 'no source follows a channel'],
])('verify %j ends with %i: %s', async (args, status, message) => {
  const { home } = await publishedHub()

  expect(await home.command('verify', ...args)).toMatchObject({ status, stderr: expect.stringContaining(message) })
})

interface Published {
  readonly kept: string
  readonly log: string
}

async function cut(log: string): Promise<void> {
  const [first] = (await readFile(log, 'utf8')).split('\n')
  await writeFile(log, `${first}\n`)
}

async function edit(log: string): Promise<void> {
  const text = await readFile(log, 'utf8')
  await writeFile(log, text.replace('"at":"20', '"at":"19'))
}

async function servedBy(home: Home): Promise<{ readonly commit: string }> {
  const [{ commit }] = JSON.parse((await home.command('list', '--json')).stdout).skills
  return { commit }
}

describe('a machine that follows a hub in place of sources', () => {
  test('proves skills of several sources of it at once, under their own ids', async () => {
    const pair = await followedWhole()
    await rm(pair.out, { recursive: true })

    const exported = await pair.follower.command('hub', 'export', '--proof', pair.file, 'drafts/tidy', 'more/extra')
    const json = await elsewhere('verify', '--proof', pair.file, '--key', pair.key, '--json')

    expect(exported).toMatchObject({ status: 0, stdout: `${pair.file}: entry 1, 2 skills\n`, stderr: '' })
    expect(JSON.parse(json.stdout)).toMatchObject({
      log: NAME,
      skills: [
        { source: 'drafts', path: 'tidy' },
        { source: 'more', path: 'extra' },
      ],
    })
  })

  test('proves a source that stays at an earlier entry by the tiles of the folder', async () => {
    const pair = await followedWhole()
    await pair.follower.command('hold', 'drafts', '--no-poll')
    await pair.publish('drafts/new')
    await pair.follower.command('sync')

    const exported = await pair.follower.command('hub', 'export', '--proof', pair.file, 'drafts/tidy')
    const both = await pair.follower.command('hub', 'export', '--proof', pair.file, 'drafts/tidy', 'more/extra')

    expect(exported).toMatchObject({ status: 0, stdout: `${pair.file}: entry 1, 1 skill\n`, stderr: '' })
    expect(both).toMatchObject({ status: 1, stderr: expect.stringContaining('is not of one entry') })
  })

  test('checks the log of the hub once, and locks its sources without a proof of the log', async () => {
    const pair = await followedWhole()

    const checked = await pair.follower.command('verify', '--log')
    const locked = await pair.follower.command('lock')
    const frozen = await pair.follower.command('sync', '--frozen')

    expect(checked.stdout).toMatch(
      /^drafts: log \S+: 1 entry, of \S+ to \S+; entry 1 is served, of \S+\n1 log: nothing found\n$/,
    )
    expect(locked).toMatchObject({ status: 0 })
    expect(locked.stdout).not.toContain('proof')
    expect(frozen).toMatchObject({ status: 0 })
  })
})

test('two followers compare their logs by a proof that one has exported', async () => {
  const pair = await followed()
  const other = await followed()
  await pair.follower.command('hub', 'export', '--proof', pair.file)
  await pair.publish('drafts/new')

  const same = await pair.follower.command('verify', '--log', '--against', pair.file)
  const foreign = await other.follower.command('verify', '--log', '--against', pair.file)
  const alone = await pair.follower.command('verify', '--against', pair.file)

  expect(same).toMatchObject({ status: 0, stdout: expect.stringContaining('2 entries') })
  // Both logs have one name, and their keys differ.
  expect(foreign).toMatchObject({ status: 3, stdout: expect.stringContaining('log-unsigned') })
  expect(alone).toMatchObject({ status: 2, stderr: expect.stringContaining('--against goes with --log') })
})

test('a hub whose witnesses have cosigned nothing proves nothing', async () => {
  const { home, file } = await publishedHub()
  const witness = verifierText(signerOf('witness.example.com', Buffer.alloc(32, 3), 'cosignature'))
  const config = await readFile(home.configFile, 'utf8')
  const witnessed = `key: { file: channel.key }, witnesses: [{ url: 'http://127.0.0.1:1', key: '${witness}' }]`
  await writeFile(home.configFile, config.replace('key: { file: channel.key }', witnessed))

  const exported = await home.command('hub', 'export', '--proof', file)

  expect(exported).toMatchObject({ status: 1, stderr: expect.stringContaining('enough cosignatures') })
})
