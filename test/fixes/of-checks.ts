import { chmod, copyFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Store } from '../../src/sync/store/store.ts'
import { skill, type World } from '../e2e/world.ts'
import { damageObject, damagePage, servedIn } from '../support/damage.ts'
import { next, nothing, typing, write } from './doing.ts'
import { OF_FINDINGS } from './of-findings.ts'
import type { Reproduction } from './reproduction.ts'

const VERIFY = ['verify']
const DECISIONS = ['decisions.json', 'decisions-copy.json'] as const

/** The findings of `verify`, by code. */
const OF_VERIFY: Readonly<Record<string, Reproduction>> = {
  'checkout-edited': {
    make: async (world) => {
      await world.synced()
      const file = await checkedOut(world)
      await chmod(file, 0o644)
      await writeFile(file, 'edited')
    },
    ask: VERIFY,
    ways: { 'the folder is restored at the next publish': async ({ world }) => changed(world) },
  },
  stranger: {
    make: async (world) => {
      await world.synced()
      await writeFile(join(dirname(await checkedOut(world)), 'note.txt'), 'mine')
    },
    ask: VERIFY,
    ways: { 'remove it': async ({ world }) => rm(join(dirname(await checkedOut(world)), 'note.txt')) },
  },
  'generation-damaged': {
    make: async (world) => {
      await world.synced()
      damageObject(world.home.state, servedIn(world.home.state))
    },
    ask: VERIFY,
    ways: { 'skillsyncd sync': typing(/skillsyncd sync/) },
  },
  'decisions-lost': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'alpha')
      for (const name of DECISIONS) await rm(join(world.home.state, name))
    },
    ask: VERIFY,
    says: /decisions-lost: [^\n]*\n/,
    ways: {
      'copy the record to it': async (reader) => reader.runs(/cp "[^"]+" "[^"]+"/),
    },
  },
  'snapshot-damaged': {
    make: async (world) => {
      await world.synced()
      using store = await Store.open(world.home.state)
      damageObject(store, (await store.generations.current())!.sources[0]!.snapshot)
    },
    ask: VERIFY,
    ways: { 'skillsyncd sync': typing(/skillsyncd sync/) },
  },
  'decisions-damaged': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'alpha')
      await copyFile(join(world.home.state, DECISIONS[0]), join(world.home.path, 'correct.json'))
      for (const name of DECISIONS) await writeFile(join(world.home.state, name), '{')
    },
    ask: VERIFY,
    ways: {
      'correct one of them (JSON)': async ({ world }) =>
        copyFile(join(world.home.path, 'correct.json'), join(world.home.state, DECISIONS[0])),
    },
  },
  'database-damaged': {
    make: async (world) => {
      await world.synced()
      await damagePage(world.home.state, 1)
    },
    ask: VERIFY,
    ways: {
      'move the state folder away': async (reader) => {
        await rename(reader.world.home.state, join(reader.world.home.path, 'away'))
        await reader.types(/skillsyncd sync/)
      },
    },
  },
  'commit-gone': {
    source: ['every: 1h', 'update: locked'],
    make: async (world) => {
      const { home, repository } = world
      await home.command('lock')
      await world.synced()
      await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'other') }, { orphan: true })
      await repository.git('reflog', 'expire', '--expire=now', '--all')
      await repository.git('gc', '--quiet', '--prune=now')
    },
    ask: ['verify', '--deep'],
    ways: { 'moves to what is there instead': typing(/skillsyncd update \S+?(?= )/, { SOURCE: 'team' }) },
  },
  'lock-missing': {
    source: ['every: 1h', 'update: locked'],
    make: nothing,
    ask: VERIFY,
    ways: {
      'skillsyncd lock makes one': async (reader) => {
        await reader.types(/skillsyncd lock/)
        await reader.world.synced()
      },
    },
  },
  'lock-unreadable': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await writeFile(world.home.lockFile, '{')
    },
    ask: VERIFY,
    ways: {
      'move it away: skillsyncd lock then locks again what was locked': async (reader) => {
        await rm(reader.world.home.lockFile)
        await reader.types(/skillsyncd lock/)
      },
    },
  },
  'lock-not-followed': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await world.home.command('hold', 'team')
    },
    ask: VERIFY,
    ways: { 'skillsyncd release SOURCE ends a hold': typing(/skillsyncd release \S+?(?= )/, { SOURCE: 'team' }) },
  },
  'lock-not-served': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await rm(world.home.state, { recursive: true })
      await world.home.command('sync', '--offline')
    },
    ask: VERIFY,
    ways: {
      'See the problem of the source in skillsyncd status': async (reader) => {
        await reader.types(/skillsyncd status/)
        await reader.world.synced()
      },
    },
  },
  'lock-differs': {
    make: async (world) => {
      await world.synced()
      await world.home.command('lock')
      await write(world, [], ['lock: ignore'])
      await changed(world)
      await write(world, [])
    },
    ask: VERIFY,
    ways: {
      'skillsyncd update SOURCE accepts the current state': typing(/skillsyncd update \S+?(?= )/, { SOURCE: 'team' }),
      'skillsyncd sync returns to the lock': typing(/skillsyncd sync/),
    },
  },
  'upstream-not-asked': {
    make: async (world) => world.synced(),
    ask: ['verify', '--deep', '--offline'],
    ways: { 'Run it without --offline': nothing },
    again: ['verify', '--deep'],
  },
  'upstream-moved': {
    make: async (world) => {
      await world.synced()
      await next(world)
    },
    ask: ['verify', '--deep'],
    says: /upstream-moved .* is served/,
    ways: {
      'skillsyncd status --upstream shows what is newer': async (reader) => {
        await reader.types(/skillsyncd status --upstream/)
        await reader.world.synced()
      },
    },
  },
  'links-damaged': {
    make: async (world) => {
      await world.synced()
      await world.home.command('link', 'claude-code')
      for (const name of await readdir(world.home.state))
        if (/^links.*\.json$/.test(name)) await writeFile(join(world.home.state, name), '{')
    },
    ask: VERIFY,
    ways: {
      'Remove the file and link again': async ({ world }) => {
        for (const name of await readdir(world.home.state))
          if (/^links.*\.json$/.test(name)) await rm(join(world.home.state, name))
        await world.home.command('link', 'claude-code')
      },
    },
  },
}

/** The problems of skills and of the state that `status` and `why` have. */
const OF_STATUS: Readonly<Record<string, Reproduction>> = {
  'problem of a skill: disabled': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'team/alpha')
    },
    ask: ['why', 'team/alpha'],
    ways: { 'skillsyncd enable': typing(/skillsyncd enable \S+/) },
  },
  'problem of a skill: skill-recalled': {
    make: async (world) => {
      await world.synced()
      await world.home.command('disable', 'team/alpha', '--followers', '--reason', 'leaks')
    },
    ask: ['why', 'team/alpha'],
    says: /skillsyncd enable [0-9a-f]{64} ends it at all followers/,
    ways: { 'ends it at all followers': typing(/skillsyncd enable \S+/) },
  },
  'problem of a skill: skill-unlisted': {
    source: ['every: 1h', "unlisted: ['alpha']"],
    make: async (world) => world.synced(),
    ask: ['why', 'team/alpha'],
    ways: {
      'take it out of `unlisted` of the source': async (reader) => {
        await write(reader.world, [reader.line('[]')])
        await reader.world.synced()
      },
    },
  },
  'problem in status: token-expiring': {
    make: async (world) => {
      await world.synced()
      await world.home.command('hub', 'token', 'add', 'ada', '--expires', '1d')
      await world.home.start('start').line()
    },
    ask: ['status', '--check'],
    ways: {
      'skillsyncd hub token renew': typing(/skillsyncd hub token renew \S+?(?=,| |$)/),
      'skillsyncd hub token revoke': typing(/skillsyncd hub token revoke \S+/),
    },
  },
}

/** The fixes of the checks, by the name of the offered fix. */
export const OF_CHECKS: Readonly<Record<string, Reproduction>> = {
  ...Object.fromEntries(Object.entries(OF_VERIFY).map(([code, made]) => [`finding of verify: ${code}`, made])),
  ...OF_STATUS,
  ...OF_FINDINGS,
}

/** Serves the next commit. */
async function changed(world: World): Promise<void> {
  await next(world)
  await world.synced()
}

/** The SKILL.md of the only skill in the folder that agents read. */
async function checkedOut(world: World): Promise<string> {
  using store = await Store.open(world.home.state)
  return join(await store.checkouts.ensure(await world.stored()), 'SKILL.md')
}
