import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { skill } from '../e2e/world.ts'
import type { World } from '../e2e/world.ts'
import { configured, next, nothing, setting, typing, write } from './doing.ts'
import type { Reader, Reproduction, Way } from './reproduction.ts'

const SYNC = ['sync', 'team']
const APPROVE = 'skillsyncd approve'
const REJECT = 'skillsyncd reject'

/** The problems of reaching a source, by code. */
const OF_REACHING: Readonly<Record<string, Reproduction>> = {
  'source-unreachable': {
    make: async ({ home }) => home.configure({ team: ['url: http://127.0.0.1:1/team.git', 'every: 1h'] }),
    ask: SYNC,
    ways: { 'Check the address and its port': configured() },
  },
  'dns-failed': {
    make: async ({ home }) => home.configure({ team: ['url: http://nothing.invalid/team.git', 'every: 1h'] }),
    ask: SYNC,
    ways: { 'Check the host name in the address': configured() },
  },
  'rate-limited': {
    make: async ({ git }) => {
      git.before = async ({ authorization }) => {
        git.fault = authorization === undefined ? { kind: 'status', status: 429 } : { kind: 'none' }
      }
    },
    ask: SYNC,
    ways: { 'give a credential in `auth`': withToken() },
  },
  'credentials-rejected': {
    make: async ({ git }) => {
      git.access = { token: 'secret' }
    },
    ask: SYNC,
    ways: { 'the credential named in `auth` is present': withToken() },
  },
  'repository-not-found': {
    make: async ({ home, git }) => home.configure({ team: [`url: ${git.origin}/teem.git`, 'every: 1h'] }),
    ask: SYNC,
    ways: { 'Check the address': configured() },
  },
  'protocol-not-spoken': {
    make: async ({ git }) => {
      git.fault = { kind: 'status', status: 200, headers: { 'content-type': 'text/plain' }, body: 'a page of text' }
    },
    ask: SYNC,
    ways: {
      'Check that the address is that of a git repository': async ({ world: { git } }) => {
        git.fault = { kind: 'none' }
      },
    },
  },
  'git-missing': {
    source: ['every: 1h', 'backend: system'],
    make: async ({ home, git, repository }) =>
      home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', 'backend: system'] }, [
        'programs: { git: /nothing/git }',
      ]),
    ask: SYNC,
    ways: {
      'name it in `programs`': async (reader) =>
        write(reader.world, ['backend: system'], [reader.line('{ git: git }')]),
      '`backend: embedded` needs none': async (reader) =>
        write(reader.world, [reader.line()], ['programs: { git: /nothing/git }']),
    },
  },
}

/** The problems of what `ref` and `root` name. */
const OF_NAMES: Readonly<Record<string, Reproduction>> = {
  'root-not-found': {
    source: ['every: 1h', 'root: Alpha'],
    make: nothing,
    ask: SYNC,
    says: /Set `root` of the source to a folder that is there, or remove it/,
    ways: { 'Set `root` of the source to a folder that is there': setting('alpha'), 'or remove it': configured() },
  },
  'ref-not-found': {
    source: ['every: 1h', 'ref: mian'],
    make: nothing,
    ask: SYNC,
    says: /Check `ref`; the branch or tag may have been renamed or deleted/,
    ways: { 'Check `ref`': setting('main') },
  },
  'ref-ambiguous': {
    source: ['every: 1h', 'ref: v1'],
    make: async ({ repository }) => {
      await repository.tag('v1')
      await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') }, { branch: 'v1' })
    },
    ask: SYNC,
    ways: {
      'refs/heads/… for the branch': inFull(),
      'refs/tags/… for the tag': inFull(),
    },
  },
}

/** The problems that a person decides about. */
const OF_DECISIONS: Readonly<Record<string, Reproduction>> = {
  held: {
    make: async (world) => {
      await world.synced()
      await world.home.command('hold', 'team')
      await next(world)
    },
    ask: SYNC,
    ways: { 'skillsyncd release': typing(/skillsyncd release \S+/) },
  },
  'rolled-back': {
    make: async (world) => {
      await world.synced()
      await next(world)
      await world.synced()
      await world.home.command('rollback', '1')
    },
    ask: SYNC,
    ways: { 'skillsyncd release': typing(/skillsyncd release \S+/) },
  },
  rejected: {
    source: ['every: 1h'],
    make: async (world) => {
      await reviewed(world)
      const commit = await next(world)
      await world.home.command('sync')
      await world.home.command('reject', 'team', commit)
    },
    ask: SYNC,
    ways: { 'skillsyncd approve': typing(/skillsyncd approve \S+ [0-9a-f]+/) },
  },
  'awaiting-approval': {
    make: async (world) => {
      await reviewed(world)
      await next(world)
    },
    ask: SYNC,
    ways: { [APPROVE]: decided, [REJECT]: rejected },
  },
  'tag-moved': {
    source: ['every: 1h', 'ref: v1'],
    make: async (world) => {
      await world.repository.tag('v1')
      await world.synced()
      await next(world)
      await world.repository.git('tag', '--force', 'v1', 'main')
    },
    ask: SYNC,
    ways: { [APPROVE]: decided, [REJECT]: rejected },
  },
  'history-rewritten': {
    make: async (world) => {
      const first = await world.repository.git('rev-parse', 'main')
      await next(world)
      await world.synced()
      await world.repository.git('update-ref', 'refs/heads/main', first)
    },
    ask: SYNC,
    ways: { [APPROVE]: decided, [REJECT]: rejected },
  },
  'mass-deletion': {
    make: async (world) => {
      await world.synced()
      await world.repository.commit({ 'alpha/SKILL.md': null, 'README.md': 'none\n' })
    },
    ask: SYNC,
    ways: { [APPROVE]: decided },
  },
  'budget-exceeded': {
    make: async (world) => {
      await limited(world, 'budget: 100')
      await world.synced()
      await world.repository.commit(many(20))
    },
    ask: SYNC,
    ways: {
      [APPROVE]: decided,
      'raise `budget` of the pack': async (reader) => limited(reader.world, reader.line('10000')),
    },
  },
  'default-branch-moved': {
    make: async (world) => {
      await world.synced()
      await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'b') }, { branch: 'next', orphan: true })
      await world.repository.git('symbolic-ref', 'HEAD', 'refs/heads/next')
    },
    ask: SYNC,
    ways: { [APPROVE]: decided, 'name the branch that is meant in `ref`': setting('main') },
  },
  'disabled-returns': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'team/alpha')
      const copies = Array.from({ length: 300 }, (_, index) => [`copies/c${index}/SKILL.md`, skill('alpha', 'first')])
      await world.repository.commit(Object.fromEntries(copies))
    },
    ask: SYNC,
    ways: { [APPROVE]: decided, 'skillsyncd enable': typing(/skillsyncd enable \S+/, { SKILL: 'team/alpha' }) },
  },
}

/** The problems of the lock, of what was fetched, and of the state folder. */
const OF_STATE: Readonly<Record<string, Reproduction>> = {
  'lock-mismatch': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await write(world, ['ref: main', 'include: [alpha]'])
    },
    ask: SYNC,
    ways: { 'skillsyncd update': typing(/skillsyncd update \S+/) },
  },
  'not-stored': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await rm(world.home.state, { recursive: true })
    },
    ask: ['sync', '--frozen'],
    ways: { 'Run skillsyncd sync once with neither': typing(/skillsyncd sync/) },
  },
  'content-refused': {
    make: async ({ repository }) => {
      const text = await repository.blob(skill('alpha', 'first'))
      const twice = [1, 2].map(() => ({ mode: '100644', name: 'SKILL.md', id: text }))
      const folder = { mode: '40000', name: 'alpha', id: await repository.rawTree(twice) }
      await repository.commitTree(await repository.rawTree([folder]))
    },
    ask: SYNC,
    ways: {
      'Correct upstream what the message names': async ({ world: { repository } }) => {
        const file = { mode: '100644', name: 'SKILL.md', id: await repository.blob(skill('alpha', 'first')) }
        const folder = { mode: '40000', name: 'alpha', id: await repository.rawTree([file]) }
        await repository.commitTree(await repository.rawTree([folder]))
      },
    },
  },
  'limit-exceeded': {
    make: async (world) => {
      await write(world, [], ['limits: { repository: { files: 3 } }'])
      await world.repository.commit(many(9))
    },
    ask: SYNC,
    says: /Raise `[a-z._]+`, or serve less of the source/,
    ways: {
      'Raise `limits.repository.files`': async (reader) => write(reader.world, [], [reader.line('99')]),
      'or serve less of the source': async ({ world }) =>
        write(world, ['root: alpha'], ['limits: { repository: { files: 3 } }']),
    },
  },
  'no-state-folder': {
    make: async (world) => {
      await world.synced()
      for (const name of ['format', 'store.db']) await rm(join(world.home.state, name))
    },
    ask: SYNC,
    ways: { 'move away what is left of it': async ({ world }) => rm(world.home.state, { recursive: true }) },
  },
  'folder-unsafe': {
    make: async (world) => {
      await world.synced()
      await chmod(world.home.state, 0o777)
    },
    ask: SYNC,
    ways: {
      'do as the message says': async (reader) => reader.runs(/chmod [^;,\n]+/),
      'name another folder with `state`': async (reader) =>
        write(reader.world, [], [reader.line(`${reader.world.home.path}/other`)]),
    },
  },
  'store-failed': {
    make: async ({ home }) => {
      await mkdir(join(home.path, 'state'), { recursive: true })
      await writeFile(home.state, 'in the way')
    },
    ask: SYNC,
    says: /Something else is at that place: move it away, or name another place/,
    ways: {
      'move it away': async ({ world }) => rm(world.home.state),
      'name another place': async ({ world }) => write(world, [], [`state: ${world.home.path}/other`]),
    },
  },
  'socket-failed': {
    make: async ({ home }) => writeFile(join(home.path, 'run', 'skillsyncd'), 'in the way'),
    ask: ['start'],
    ways: {
      'Set XDG_RUNTIME_DIR to a folder of this user alone': async (reader) => {
        const { home } = reader.world
        const folder = join(home.path, 'run', 'mine')
        home.env[reader.read(/[A-Z_]{4,}/)] = folder
        await mkdir(folder, { mode: 0o700 })
      },
    },
    again: SYNC,
  },
}

/** The problems of sources, by code. */
export const OF_SOURCES: Readonly<Record<string, Reproduction>> = {
  ...OF_REACHING,
  ...OF_NAMES,
  ...OF_DECISIONS,
  ...OF_STATE,
}

function many(count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, index) => `skill-${index}`)
  return Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, 'first')]))
}

/** Serves `team`, which is reviewed from then on. */
async function reviewed(world: World): Promise<void> {
  await world.synced()
  await write(world, ['update: review'])
}

async function limited(world: World, budget: string): Promise<void> {
  await write(world, [], ['packs:', '  - id: core', '    include: [{ source: team }]', `    ${budget}`])
}

/** Names the credential of the source, which is there. */
function withToken(): Way {
  return async (reader) => {
    reader.world.home.env['TEAM_TOKEN'] = 'secret'
    await setting('{ token: { env: TEAM_TOKEN } }')(reader)
  }
}

/** Writes the ref with the beginning that the step has. */
function inFull(): Way {
  return async (reader) => write(reader.world, [`ref: ${reader.read(/refs\/[a-z]+\//)}v1`])
}

async function rejected(reader: Reader): Promise<void> {
  await reader.types(/skillsyncd reject \S+ [0-9a-f]+/)
}

/** The commands that take a commit which waits. */
async function decided(reader: Reader): Promise<void> {
  await reader.types(/skillsyncd diff served upstream --only \S+?(?=[,;])/)
  await reader.types(/skillsyncd approve \S+ [0-9a-f]+/)
}
