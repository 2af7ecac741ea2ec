import { skill, type World } from '../e2e/world.ts'
import type { Content } from '../support/git/repository.ts'
import { write } from './doing.ts'
import type { Reproduction, Way } from './reproduction.ts'

const STATUS = ['status', 'team']
const MARKETPLACE = '.claude-plugin/marketplace.json'

/** The findings of a source that need a git repository, by code. */
const OF_REPOSITORIES: Readonly<Record<string, Reproduction>> = {
  'docs-missing': {
    source: ['every: 1h', 'docs: manual'],
    make: async (world) => world.synced(),
    ask: STATUS,
    ways: {
      'add the folder': committing({ 'manual/usage.md': 'text' }),
      'correct `docs`': async (reader) => {
        await reader.world.repository.commit({ 'pages/usage.md': 'text' })
        await write(reader.world, [reader.line('pages')])
        await reader.world.synced()
      },
    },
  },
  submodule: {
    make: async (world) => served(world, { 'alpha/vendor': { submodule: '5ab0'.repeat(10) } }),
    ask: ['show', 'alpha'],
    ways: { 'copy the files into the skill': committing({ 'alpha/vendor': null, 'alpha/vendor/a.txt': 'text' }) },
  },
  'marketplace-unread': {
    source: ['every: 1h', 'marketplace: true'],
    make: async (world) => served(world, { [MARKETPLACE]: '{' }),
    ask: STATUS,
    ways: { 'make the file valid JSON': committing({ [MARKETPLACE]: listing('alpha') }) },
  },
  'plugin-refused': {
    source: ['every: 1h', 'marketplace: true'],
    make: async (world) => served(world, { [MARKETPLACE]: listing('../away') }),
    ask: STATUS,
    ways: { 'correct the entry that the message names': committing({ [MARKETPLACE]: listing('alpha') }) },
  },
  'kept-version': {
    make: async (world) => {
      await world.synced()
      await world.repository.commit({ 'alpha/SKILL.md': '---\nname: alpha\n' })
      await world.home.command('sync')
    },
    ask: ['show', 'alpha'],
    ways: { 'fix the fault that the message names': committing({ 'alpha/SKILL.md': skill('alpha', 'fixed') }) },
  },
}

/** The findings that a source alone can have, by the name of the offered fix. */
export const OF_FINDINGS: Readonly<Record<string, Reproduction>> = Object.fromEntries(
  Object.entries(OF_REPOSITORIES).map(([code, made]) => [`finding in a skill: ${code}`, made]),
)

type Files = Readonly<Record<string, Content | null>>

async function served(world: World, files: Files): Promise<void> {
  await world.repository.commit(files)
  await world.synced()
}

/** Does what the fix says in the repository. */
function committing(files: Files): Way {
  return async ({ world }) => served(world, files)
}

function listing(source: string): string {
  const plugins = [{ name: 'kit', source: `./${source}`, strict: false, skills: ['./'] }]
  return JSON.stringify({ name: 'team', owner: { name: 'Ada' }, plugins })
}
