import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { skill } from '../e2e/world.ts'
import type { World } from '../e2e/world.ts'
import { configured, next, nothing, typing, write } from './doing.ts'
import type { Reader, Reproduction } from './reproduction.ts'

const SYNC = ['sync', 'team']

/** The problems of reaching a source, by code. */
const OF_REACHING: Readonly<Record<string, Reproduction>> = {
  'source-unreachable': {
    make: async ({ home }) => home.configure({ team: ['url: http://127.0.0.1:1/team.git', 'every: 1h'] }),
    ask: SYNC,
    ways: { 'the right port in the address': configured() },
  },
  'dns-failed': {
    make: async ({ home }) => home.configure({ team: ['url: http://nothing.invalid/team.git', 'every: 1h'] }),
    ask: SYNC,
    ways: { 'the right host in the address': configured() },
  },
  'rate-limited': {
    make: async ({ git }) => {
      git.before = async ({ authorization }) => {
        git.fault = authorization === undefined ? { kind: 'status', status: 429 } : { kind: 'none' }
      }
    },
    ask: SYNC,
    ways: { 'a credential in auth': withToken() },
  },
  'credentials-rejected': {
    make: async ({ git }) => {
      git.access = { token: 'secret' }
    },
    ask: SYNC,
    ways: { 'the credential of the source': withToken() },
  },
  'repository-not-found': {
    make: async ({ home, git }) => home.configure({ team: [`url: ${git.origin}/teem.git`, 'every: 1h'] }),
    ask: SYNC,
    ways: { 'the right address': configured() },
  },
  'protocol-not-spoken': {
    make: async ({ git }) => {
      git.fault = { kind: 'status', status: 200, headers: { 'content-type': 'text/plain' }, body: 'a page of text' }
    },
    ask: SYNC,
    ways: {
      'an address that is one of git': async ({ world: { git } }) => {
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
      'the program in `programs`': configured('backend: system'),
      'the embedded reader': async ({ world }) =>
        write(world, ['backend: embedded'], ['programs: { git: /nothing/git }']),
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
    ways: { 'a folder that is there': configured('root: alpha'), 'no root': configured() },
  },
  'ref-not-found': {
    source: ['every: 1h', 'ref: mian'],
    make: nothing,
    ask: SYNC,
    says: /Check `ref`; the branch or tag may have been renamed or deleted/,
    ways: { 'the right branch': configured('ref: main') },
  },
  'ref-ambiguous': {
    source: ['every: 1h', 'ref: v1'],
    make: async ({ repository }) => {
      await repository.tag('v1')
      await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') }, { branch: 'v1' })
    },
    ask: SYNC,
    ways: {
      'the branch in full': configured('ref: refs/heads/v1'),
      'the tag in full': configured('ref: refs/tags/v1'),
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
    ways: { released: typing(/skillsyncd release \S+/) },
  },
  'rolled-back': {
    make: async (world) => {
      await world.synced()
      await next(world)
      await world.synced()
      await world.home.command('rollback', '1')
    },
    ask: SYNC,
    ways: { released: typing(/skillsyncd release \S+/) },
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
    ways: { 'approved after all': typing(/skillsyncd approve \S+ [0-9a-f]+/) },
  },
  'awaiting-approval': {
    make: async (world) => {
      await reviewed(world)
      await next(world)
    },
    ask: SYNC,
    ways: decided(),
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
    ways: decided(),
  },
  'history-rewritten': {
    make: async (world) => {
      const first = await world.repository.git('rev-parse', 'main')
      await next(world)
      await world.synced()
      await world.repository.git('update-ref', 'refs/heads/main', first)
    },
    ask: SYNC,
    ways: decided(),
  },
  'mass-deletion': {
    make: async (world) => {
      await world.synced()
      await world.repository.commit({ 'alpha/SKILL.md': null, 'README.md': 'none\n' })
    },
    ask: SYNC,
    ways: { approved: decided()['approved']! },
  },
  'budget-exceeded': {
    make: async (world) => {
      await limited(world, 100)
      await world.synced()
      await world.repository.commit(many(20))
    },
    ask: SYNC,
    ways: { approved: decided()['approved']!, 'a larger budget': async ({ world }) => limited(world, 10_000) },
  },
  'default-branch-moved': {
    make: async (world) => {
      await world.synced()
      await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'b') }, { branch: 'next', orphan: true })
      await world.repository.git('symbolic-ref', 'HEAD', 'refs/heads/next')
    },
    ask: SYNC,
    ways: { approved: decided()['approved']!, 'the branch that is meant': configured('ref: main') },
  },
  'disabled-returns': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'team/alpha')
      const copies = Array.from({ length: 300 }, (_, index) => [`copies/c${index}/SKILL.md`, skill('alpha', 'first')])
      await world.repository.commit(Object.fromEntries(copies))
    },
    ask: SYNC,
    ways: { ...decided(), enabled: typing(/skillsyncd enable \S+/, { SKILL: 'team/alpha' }) },
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
    ways: { 'moved with update': typing(/skillsyncd update \S+/) },
  },
  'not-stored': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await rm(world.home.state, { recursive: true })
    },
    ask: ['sync', '--frozen'],
    ways: { 'a sync with the network': typing(/skillsyncd sync/) },
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
      'a commit without it': async ({ world: { repository } }) => {
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
      'a higher limit': configured(),
      'less of the source': async ({ world }) =>
        write(world, ['root: alpha'], ['limits: { repository: { files: 3 } }']),
    },
  },
  'no-state-folder': {
    make: async (world) => {
      await world.synced()
      for (const name of ['format', 'store.db']) await rm(join(world.home.state, name))
    },
    ask: SYNC,
    ways: { 'moved away': async ({ world }) => rm(world.home.state, { recursive: true }) },
  },
  'folder-unsafe': {
    make: async (world) => {
      await world.synced()
      await chmod(world.home.state, 0o777)
    },
    ask: SYNC,
    ways: { 'as the message says': async (reader) => reader.runs(/chmod [^;,\n]+/) },
  },
  'store-failed': {
    make: async ({ home }) => {
      await mkdir(join(home.path, 'state'), { recursive: true })
      await writeFile(home.state, 'in the way')
    },
    ask: SYNC,
    says: /Something else is at that place: move it away, or name another place/,
    ways: {
      'moved away': async ({ world }) => rm(world.home.state),
      'another place': async ({ world }) => write(world, [], [`state: ${world.home.path}/other`]),
    },
  },
  'socket-failed': {
    make: async ({ home }) => writeFile(join(home.path, 'run', 'skillsyncd'), 'in the way'),
    ask: ['start'],
    ways: {
      'another folder': async ({ world: { home } }) => {
        home.env['XDG_RUNTIME_DIR'] = join(home.path, 'run', 'mine')
        await mkdir(home.env['XDG_RUNTIME_DIR'], { mode: 0o700 })
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

async function limited(world: World, budget: number): Promise<void> {
  await write(world, [], ['packs:', '  - id: core', '    include: [{ source: team }]', `    budget: ${budget}`])
}

/** Names the credential of the source, which is there. */
function withToken(): (reader: Reader) => Promise<void> {
  return async ({ world }) => {
    world.home.env['TEAM_TOKEN'] = 'secret'
    await write(world, ['auth: { token: { env: TEAM_TOKEN } }'])
  }
}

/** The commands about a commit that waits. */
function decided(): Reproduction['ways'] {
  return {
    approved: async (reader) => {
      await reader.types(/skillsyncd diff served upstream --only \S+?(?=[,;])/)
      await reader.types(/skillsyncd approve \S+ [0-9a-f]+/)
    },
  }
}
