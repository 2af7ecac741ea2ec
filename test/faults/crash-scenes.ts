import { skill } from '../e2e/world.ts'
import { HostileServer } from '../support/hostile/hostile-server.ts'
import { SECOND, Stage } from './crash-stage.ts'

/** Something that a process does to the disk, and that it is killed in. */
export interface CrashScene {
  readonly title: string
  /** Everything up to the moment before. */
  readonly set: () => Promise<Stage>
  readonly args: readonly string[]
  /** Of its calls those that no other scene has: each its name, and what it names, from the home on. */
  readonly isAbout: (call: string) => boolean
  /** Where it may write besides the state folder and that of the socket. */
  readonly writes: readonly string[]
  /** What a person does when it comes back, and what it leaves then. */
  readonly again: (stage: Stage) => Promise<void>
  /** What another machine finds after the end, if one reads what the process writes. Throws where that is not whole. */
  readonly sees?: (stage: Stage) => Promise<string>
}

const syncAgain = async (stage: Stage): Promise<void> => stage.run(['sync'])

/** The scene with by far the most calls: it has a file of its own, which runs beside that of the others. */
export const PUBLISH: CrashScene = {
  title: 'a publish',
  async set() {
    const stage = await Stage.set()
    await stage.run(['sync'], ['link', '--once', 'claude-code'])
    await stage.repository.commit(SECOND)
    return stage
  },
  args: ['sync'],
  isAbout: () => true,
  writes: [],
  again: syncAgain,
}

export const OTHER_SCENES: readonly CrashScene[] = [
  {
    title: 'a collection',
    async set() {
      const stage = await Stage.set([], ['retention: { generations: 1, younger_than: 1ms }'])
      await stage.run(['sync'])
      const second = await stage.repository.commit(SECOND)
      const third = await stage.repository.commit({ 'changed/SKILL.md': skill('changed', 'third') })
      await stage.repository.setRef('refs/heads/third', third)
      await stage.repository.setRef('refs/heads/main', second)
      return stage
    },
    args: ['sync'],
    // Objects are removed in transactions. The database shrinks when it is closed.
    isAbout: (call) => /\/store\.db/.test(call),
    writes: [],
    // What was not collected goes with the next update.
    async again(stage) {
      await stage.run(['sync'])
      const [second, third] = await Promise.all(
        ['main', 'third'].map((name) => stage.repository.git('rev-parse', name)),
      )
      await stage.repository.setRef('refs/heads/main', third ?? '')
      await stage.run(['sync'])
      await stage.repository.setRef('refs/heads/main', second ?? '')
    },
  },
  {
    title: 'a rollback',
    async set() {
      const stage = await Stage.set()
      await stage.run(['sync'], ['link', '--once', 'claude-code'])
      await stage.repository.commit(SECOND)
      await stage.run(['sync'])
      return stage
    },
    args: ['rollback', '1'],
    isAbout: (call) => /\/(?:store\.db|generations|current|decisions|links|\.tmp-\w+$)/.test(call),
    writes: [],
    async again(stage) {
      // Where it was done before the end, there is nothing to go back to.
      await stage.home.command('rollback', '1')
      await stage.run(['sync'])
      // What was stored and never served goes with the next update.
      await stage.run(['release', 'team'], ['sync'])
    },
  },
  {
    title: 'the disabling of a skill',
    async set() {
      const stage = await Stage.set()
      await stage.run(['sync'], ['link', '--once', 'claude-code'])
      return stage
    },
    args: ['disable', 'team/changed'],
    isAbout: (call) => /\/(?:decisions(?:-copy)?\.json|links|\.tmp-\w+$)/.test(call),
    writes: [],
    again: async (stage) => stage.run(['disable', 'team/changed']),
  },
  {
    title: 'an update of the lock',
    async set() {
      const stage = await Stage.set()
      await stage.run(['sync'], ['lock'])
      await stage.repository.commit(SECOND)
      return stage
    },
    args: ['update'],
    isAbout: (call) => call.includes(' config/'),
    writes: ['config/skillsyncd'],
    async again(stage) {
      await stage.age()
      await stage.run(['update'])
    },
  },
  {
    title: 'the mirroring of a skill of another server',
    async set() {
      const stage = await Stage.set()
      const server = await HostileServer.start()
      server.skills.set('skill://refunds/SKILL.md', { 'SKILL.md': skill('refunds', 'body'), 'notes.md': 'notes\n' })
      await stage.addServer(server, ['approval: none'])
      await stage.run(['sync'])
      return stage
    },
    args: ['mcp-source', 'mirror', 'au/refunds'],
    isAbout: (call) => call.includes('/upstreams/'),
    writes: [],
    again: async (stage) => stage.run(['mcp-source', 'mirror', 'au/refunds']),
  },
]
