import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseSigner, parseVerifier, verifierText } from '../../../src/sync/transparency-log/signed-note.ts'
import { Home } from '../../support/process/program.ts'

const NAME = 'skills.example.com/channel'

test('new-key writes the private key for its owner alone, and prints the public key and no other', async () => {
  await using home = await Home.create()
  const file = join(home.path, 'channel.key')

  const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', file)

  const kept = (await readFile(file, 'utf8')).trim()
  const [key = ''] = made.stdout.split('\n')
  expect(made).toMatchObject({ status: 0, stderr: '' })
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
  expect(parseVerifier(key)?.name).toBe(NAME)
  expect(verifierText(parseSigner(kept)!)).toBe(key)
  // The last part of a private key is its secret; the parts before it are those of the public key.
  expect(made.stdout).not.toContain(kept)
  expect(made.stdout).not.toContain(kept.slice(kept.lastIndexOf('+') + 1))
})

test('the JSON of new-key has the public key and the file, and nothing else', async () => {
  await using home = await Home.create()
  const file = join(home.path, 'channel.key')

  const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', file, '--json')

  const signer = parseSigner((await readFile(file, 'utf8')).trim())
  expect(JSON.parse(made.stdout)).toEqual({ file, key: verifierText(signer!) })
})

test('each key is a new one', async () => {
  await using home = await Home.create()
  const keyIn = async (file: string): Promise<string> =>
    JSON.parse((await home.command('hub', 'channel', 'new-key', NAME, '--out', join(home.path, file), '--json')).stdout)
      .key

  expect(await keyIn('a.key')).not.toBe(await keyIn('b.key'))
})

test('a file that is there is kept, also behind a link', async () => {
  await using home = await Home.create()
  const file = join(home.path, 'channel.key')
  await writeFile(file, 'the key of before\n')
  await symlink(join(home.path, 'elsewhere.key'), join(home.path, 'link.key'))

  const again = await home.command('hub', 'channel', 'new-key', NAME, '--out', file)
  const linked = await home.command('hub', 'channel', 'new-key', NAME, '--out', join(home.path, 'link.key'))

  expect(again).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(`"${file}": `) })
  expect(await readFile(file, 'utf8')).toBe('the key of before\n')
  expect(linked).toMatchObject({ status: 1, stdout: '' })
  await expect(stat(join(home.path, 'elsewhere.key'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a folder that is not there is named', async () => {
  await using home = await Home.create()

  const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', join(home.path, 'none', 'channel.key'))

  expect(made).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('Cannot write the private key') })
})

test.each([
  [['hub', 'channel'], 'takes new-key NAME or keys'],
  [['hub', 'channel', 'new-key'], 'takes new-key NAME or keys'],
  [['hub', 'channel', 'keys', NAME], 'takes new-key NAME or keys'],
  [['hub', 'channel', 'keys', '--out', '/tmp/key'], '--out goes with new-key'],
  [['hub', 'channel', 'new-key', NAME], 'needs --out FILE'],
  [['hub', 'channel', 'new-key', 'two words', '--out', '/nowhere/key'], 'no spaces and no +'],
  [['hub', 'channel', 'new-key', 'a+b', '--out', '/nowhere/key'], 'no spaces and no +'],
])('%j is a wrong use: %s', async (args, message) => {
  await using home = await Home.create()

  expect(await home.command(...args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
})

test('keys prints the public keys of everything and of each pack, of which each has the name of its log', async () => {
  await using home = await Home.create()
  const keys = await configured(home, ['old.key', 'new.key'])

  const printed = await home.command('hub', 'channel', 'keys')
  const json = JSON.parse((await home.command('hub', 'channel', 'keys', '--json')).stdout)

  const lines = printed.stdout.trimEnd().split('\n')
  expect(printed.status).toBe(0)
  expect(lines.slice(0, 2)).toEqual(keys.map((key) => `${key}  everything`))
  expect(lines.slice(2).map((line) => line.replace(/\+\S+/, ''))).toEqual(
    Array.from({ length: 2 }, () => `${NAME}/web  the pack web`),
  )
  expect(json.keys).toEqual(
    lines.map((line) => {
      const [key = ''] = line.split('  ')
      return line.endsWith('the pack web') ? { key, pack: 'web' } : { key }
    }),
  )
  for (const { key } of json.keys) expect(parseVerifier(key)).toBeDefined()
})

test('a key of another name, and a file that is none, are refused by their file and never quoted', async () => {
  await using home = await Home.create()
  await configured(home, ['channel.key'])
  await writeFile(join(home.path, 'config/skillsyncd/channel.key'), 'PRIVATE+KEY+hunter2-hunter2-hunter2\n')

  const none = await home.command('hub', 'channel', 'keys')

  expect(none).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('channel.key') })
  expect(none.stderr).not.toContain('hunter2')
})

test('without a channel in the configuration, keys says how to make one', async () => {
  await using home = await Home.create()
  await home.configure({ drafts: [`path: ${home.path}`] })

  const none = await home.command('hub', 'channel', 'keys')

  expect(none).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('skillsyncd hub channel new-key makes a key'),
  })
})

/** Configures a channel with new keys in these files, and a pack. Returns the public keys. */
async function configured(home: Home, files: readonly string[]): Promise<readonly string[]> {
  const keys: string[] = []
  for (const file of files) {
    const out = join(home.path, 'config/skillsyncd', file)
    const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', out, '--json')
    keys.push(JSON.parse(made.stdout).key)
  }
  const drafts = join(home.path, 'drafts')
  await mkdir(drafts)
  await home.configure({ drafts: [`path: ${drafts}`] }, [
    `channel: { name: ${NAME}, key: [${files.map((file) => `{ file: ${file} }`).join(', ')}] }`,
    'packs: [{ id: web, include: [{ path: "web/**" }] }]',
  ])
  return keys
}

test('new-key --witness makes a key that cosigns, and shows where its parts belong', async () => {
  await using home = await Home.create()
  const file = join(home.path, 'witness.key')

  const made = await home.command('hub', 'channel', 'new-key', 'witness.example.com', '--out', file, '--witness')

  const [key = ''] = made.stdout.split('\n')
  const secret = (await readFile(file, 'utf8')).trim()
  expect(made.status).toBe(0)
  expect(verifierText(parseSigner(secret, 'cosignature')!)).toBe(key)
  expect([parseSigner(secret), parseVerifier(key)]).toEqual([undefined, undefined])
  expect(made.stdout).toContain(`skillsyncd hub witness --key ${file} --state DIR --log KEY`)
  expect(made.stdout).not.toContain(secret)
  expect(await home.command('hub', 'channel', 'keys', '--witness')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--witness goes with new-key'),
  })
})
