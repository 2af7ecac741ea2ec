import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parseProof } from '../../../src/sync/log/tlog-proof.ts'
import { skill } from '../../support/http/marketplace.ts'
import { Home } from '../../support/process/program.ts'

const NAME = 'skills.example.com/channel'

test('a proof of a hub is checked with the public key alone, and shows the skill, its source and its time', async () => {
  const { home, key, file } = await publishedHub()

  const exported = await home.command('export', '--proof', file, 'drafts/tidy')
  const checked = await elsewhere('verify', '--proof', file, '--key', key)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(exported).toMatchObject({ status: 0, stdout: `${file}: entry 1, 1 skill\n`, stderr: '' })
  expect(checked).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining(`signed by ${key}\n`) })
  expect(checked.stdout).toMatch(/^entry 1 of 1 of the log skills\.example\.com\/channel, of 20/)
  expect(checked.stdout).toContain(`source drafts: file://${join(home.path, 'drafts')}, `)
  expect(checked.stdout).toMatch(/\nskill drafts\/tidy: tidy, served, digest [\da-f]{64}\n/)
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
    findings: [],
  })
})

test('without skills a proof shows all of them, and is the same file each time', async () => {
  const { home, key, file } = await publishedHub()

  await home.command('export', '--proof', file)
  const first = await readFile(file, 'utf8')
  await home.command('export', '--proof', file)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(await readFile(file, 'utf8')).toBe(first)
  expect(JSON.parse(json.stdout)).toMatchObject({
    whole: true,
    skills: [{ path: 'tidy' }, { path: 'write-letter' }, { source: 'more', path: 'extra' }],
  })
})

test('the proof of a pack is of the log of that pack, and knows no other skill', async () => {
  const { home, file } = await publishedHub()
  const { keys } = JSON.parse((await home.command('channel', 'keys', '--json')).stdout)
  const { key } = keys.find(({ pack }: { readonly pack?: string }) => pack === 'writing')

  const exported = await home.command('export', '--proof', file, '--pack', 'writing')
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')
  const absent = await home.command('export', '--proof', file, '--pack', 'writing', 'tidy')

  expect(exported).toMatchObject({ status: 0 })
  expect(JSON.parse(json.stdout)).toMatchObject({ log: `${NAME}/writing`, skills: [{ path: 'write-letter' }] })
  expect(await readFile(file, 'utf8')).not.toContain('tidy')
  expect(absent).toMatchObject({ status: 1, stderr: expect.stringContaining('the channel has no skill "drafts/tidy"') })
})

test('a folder is compared with the skill that a proof shows', async () => {
  const { home, key, file } = await publishedHub()
  await home.command('export', '--proof', file, 'tidy')
  const folder = join(home.path, 'copy')
  await mkdir(folder)
  await writeFile(join(folder, 'SKILL.md'), skill('tidy'))

  const same = await elsewhere('verify', '--proof', file, '--key', key, folder)
  await writeFile(join(folder, 'SKILL.md'), skill('tidx'))
  await writeFile(join(folder, 'more.md'), 'more')
  const other = await elsewhere('verify', '--proof', file, '--key', key, folder)

  expect(same).toMatchObject({ status: 0, stdout: expect.stringMatching(/\nproved\n$/) })
  expect(other).toMatchObject({ status: 3, stderr: '' })
  expect(other.stdout).toMatch(
    /^! folder-differs: SKILL\.md: .+\n! folder-differs: more\.md: the channel does not have it\n/,
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
  ['no names, as if it had all skills', ({ skills: _, ...file }) => file, /it lacks the object/],
  ['another form', (file) => ({ ...file, format: 'skillsyncd-proof@v2' }), /it is no proof of this version/],
  [
    'no signature',
    (file) => ({ ...file, proof: file.proof.slice(0, file.proof.lastIndexOf('\n\n') + 2) }),
    /of its checkpoint/,
  ],
])('a proof with %s is refused', async (what, change, why) => {
  const { home, key, file } = await publishedHub()
  await home.command('export', '--proof', file, 'tidy')
  const text = await readFile(file, 'utf8')
  const changedText = JSON.stringify(change(JSON.parse(text)))
  await writeFile(file, changedText)

  const checked = await elsewhere('verify', '--proof', file, '--key', key)
  const json = await elsewhere('verify', '--proof', file, '--key', key, '--json')

  expect(checked, what).toMatchObject({ status: 3, stderr: '' })
  expect(checked.stdout).toMatch(why)
  expect(checked.stdout).toMatch(/^! proof-refused: [^\n]+\n$/)
  expect(JSON.parse(json.stdout).findings).toMatchObject([{ code: 'proof-refused' }])
})

test('a proof is refused with another key of the same name', async () => {
  const { home, file } = await publishedHub()
  await home.command('export', '--proof', file)
  const made = await home.command('channel', 'new-key', NAME, '--out', join(home.path, 'other.key'), '--json')
  const { key } = JSON.parse(made.stdout)

  expect(await elsewhere('verify', '--proof', file, '--key', key)).toMatchObject({
    status: 3,
    stdout: expect.stringContaining('no known key has signed it'),
  })
})

test.each([
  [['export', 'tidy'], 2, 'Skills and --pack go with --proof'],
  [['export', '--proof', 'x', '--format', 'spdx'], 2, '--proof goes with none of --format'],
  [['export', '--proof', 'x', 'nothing'], 1, 'No skill is called "nothing"'],
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

  const early = await home.command('export', '--proof', file)

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

/** A hub with three skills of two sources, its public key, and a file that is not there yet. */
async function publishedHub({ published = true } = {}) {
  const home = await Home.create()
  for (const path of ['drafts/write-letter', 'drafts/tidy', 'more/extra']) {
    await mkdir(join(home.path, path), { recursive: true })
    await writeFile(join(home.path, path, 'SKILL.md'), skill(basename(path)))
  }
  const made = await home.command(
    ...['channel', 'new-key', NAME, '--out', join(home.path, 'config/skillsyncd/channel.key'), '--json'],
  )
  const { key } = JSON.parse(made.stdout)
  const channel = `channel: { name: ${NAME}, key: { file: channel.key } }`
  const pack = ['packs:', '  - id: writing', '    include: [{ path: write-* }]']
  const folders = ['drafts', 'more'].map((id) => [id, [`path: ${join(home.path, id)}`]] as const)
  await home.configure(Object.fromEntries(folders), [channel, ...pack])
  await home.command('sync')
  if (published)
    for (const more of [[], ['--pack', 'writing']])
      await home.command('publish', '--to', join(home.path, `out${more.length}`), ...more)
  return { home, key, file: join(home.path, 'proof.json') }
}
