import { lstat, mkdir, readFile, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Ended, Home } from '../../support/process/program.ts'
import { World, skill } from '../world.ts'

const CLAUDE = '.claude/skills'

test('killed at any step of a switch, an agent finds the old version or the new one, whole, and the next start has the new one', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const commit = async (text: string): Promise<void> => {
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', text), 'alpha/references/same.md': text })
  }
  await commit('version 0')
  await world.synced()
  await home.command('link', '--once', 'claude-code')
  const folder = join(home.path, CLAUDE, 'alpha')

  const ends: (string | null)[] = []
  for (let call = 1; ends.at(-1) !== null; call += 1) {
    const [before, after] = [`version ${call - 1}`, `version ${call}`]
    await commit(after)
    const { signal } = await killedAt(home, call, ['/links/'], 'sync')
    const version = await realpath(folder)
    const reference = await readFile(join(version, 'references/same.md'), 'utf8')
    const document = await readFile(join(version, 'SKILL.md'), 'utf8')
    await world.synced()

    expect([before, after]).toContain(reference)
    expect(document).toBe(skill('alpha', reference))
    expect(await readFile(join(folder, 'references/same.md'), 'utf8')).toBe(after)
    expect(await readdir(join(home.state, 'links'))).toEqual(['alpha'])
    ends.push(signal)
  }

  // The link beside it, and the rename in its place.
  expect(ends).toEqual(['SIGKILL', 'SIGKILL', null])
})

test.each([['links'], ['copies']])(
  'killed at any step, link leaves nothing in the folder that is not written down: %s',
  async (form) => {
    await using world = await World.create()
    const { home } = world
    await world.synced()
    const args = ['claude-code', ...(form === 'copies' ? ['--copy'] : [])]

    const ends: (string | null)[] = []
    const kinds = new Set<string>()
    for (let call = 1; ends.at(-1) !== null; call += 1) {
      const { signal } = await killedAt(home, call, ['/links', '/.claude'], 'link', ...args)
      kinds.add(await kindOf(join(home.path, CLAUDE, 'alpha')))
      const unlinked = await home.command('link', '--remove', '--all')

      expect(unlinked).toMatchObject({ status: 0, stderr: '' })
      expect(await kindOf(join(home.path, '.claude'))).toBe('nothing')
      ends.push(signal)
    }

    expect(kinds).toEqual(new Set(['nothing', 'something']))
    expect(ends.length).toBeGreaterThan(4)
  },
)

test.each([
  ['link', ['link', '--once', 'claude-code', '--copy']],
  ['link --remove', ['link', '--remove', 'claude-code']],
])(
  'killed at any step between two copies, %s leaves the old one, the new one or none, and nothing that is not ours to remove',
  async (_, args) => {
    await using world = await World.create()
    const { home, repository } = world
    await mkdir(join(home.path, CLAUDE, 'mine'), { recursive: true })
    const commit = async (text: string): Promise<void> => {
      await repository.commit({ 'alpha/SKILL.md': skill('alpha', text), 'alpha/same.md': text })
      await world.synced()
    }
    await commit('version 0')

    const ends: (string | null)[] = []
    for (let call = 1; ends.at(-1) !== null; call += 1) {
      // What the last round left served is copied, and then moves on.
      await home.command('link', '--once', 'claude-code', '--copy')
      await commit(`version ${call}`)
      const { signal } = await killedAt(
        home,
        call,
        ['/.claude/skills/alpha', '.skillsyncd-old-', '.skillsyncd-gone-'],
        ...args,
      )
      const found = ['same.md', 'SKILL.md'].map((name) => join(home.path, CLAUDE, 'alpha', name))
      const [reference, document] = await Promise.all(found.map((file) => readFile(file, 'utf8').catch(codeOf)))
      const unlinked = await home.command('link', '--remove', 'claude-code')

      expect([`version ${call - 1}`, `version ${call}`, 'ENOENT']).toContain(reference)
      expect(document).toBe(reference === 'ENOENT' ? 'ENOENT' : skill('alpha', reference!))
      expect(unlinked).toMatchObject({ status: 0, stderr: '' })
      expect(await readdir(join(home.path, CLAUDE))).toEqual(['mine'])
      ends.push(signal)
    }

    expect(ends.length).toBeGreaterThan(2)
  },
)

test('killed at any step while it follows, a pull leaves the old, the new or none of a skill, and the next one goes on', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const host = join(home.path, 'host')
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, [
    `links: [claude-code, { to: ${host}, copy: true }]`,
  ])
  await mkdir(join(host, 'mine'), { recursive: true })
  await world.synced()

  const ends: (string | null)[] = []
  for (let call = 1; ends.at(-1) !== null; call += 1) {
    const name = `s${call % 2}`
    await repository.commit({
      'alpha/SKILL.md': skill('alpha', `version ${call}`),
      [`s${(call + 1) % 2}/SKILL.md`]: null,
      [`${name}/SKILL.md`]: skill(name, 'new'),
    })
    const { signal } = await killedAt(home, call, ['/host/alpha', '/.claude/skills/s'], 'sync')
    const partial = await readFile(join(host, 'alpha/SKILL.md'), 'utf8').catch(codeOf)
    await world.synced()

    expect([
      skill('alpha', `version ${call - 1}`),
      skill('alpha', 'first'),
      skill('alpha', `version ${call}`),
      'ENOENT',
    ]).toContain(partial)
    expect(await visibleIn(join(home.path, CLAUDE))).toEqual(['alpha', name])
    expect(await visibleIn(host)).toEqual(['alpha', 'mine', name])
    expect(await readFile(join(host, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', `version ${call}`))
    ends.push(signal)
  }
  const unlinked = await home.command('link', '--remove', '--all')

  expect(unlinked).toMatchObject({ status: 0, stderr: '' })
  expect(await kindOf(join(home.path, '.claude'))).toBe('nothing')
  expect(await visibleIn(host)).toEqual(['mine'])
  expect(ends.length).toBeGreaterThan(4)
})

/** Runs the program until it makes so many calls to the file system that have one of the words in their paths. */
async function killedAt(home: Home, call: number, words: readonly string[], ...args: string[]): Promise<Ended> {
  const env = { KILL_CALL: `${call}`, KILL_WORDS: words.join(':'), NODE_OPTIONS: `--import=${KILLING}` }
  Object.assign(home.env, env)
  try {
    return await home.run(...args)
  } finally {
    for (const name of Object.keys(env)) delete home.env[name]
  }
}

const KILLING = new URL('../../support/process/kill-at-call.mjs', import.meta.url).href

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** The names that agents see: what a kill leaves aside begins with a dot. */
async function visibleIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted()
}

async function kindOf(path: string): Promise<string> {
  return lstat(path).then(
    () => 'something',
    () => 'nothing',
  )
}
