import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Context } from '../../../../src/daemon/cli/command.ts'
import { printUpstream } from '../../../../src/daemon/commands/show/upstream.ts'
import { configuredIn } from '../../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { readConfig } from '../../../../src/daemon/configuration.ts'
import type { WholeConfig } from '../../../../src/daemon/configuration.ts'
import { COMMAND_FEATURES } from '../../../../src/daemon/features.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import type { Writer } from '../../../../src/daemon/writer.ts'
import { lockEntryOf } from '../../../../src/sync/model/decisions/lock.ts'
import type { ObjectId, Revision } from '../../../../src/sync/model/revision.ts'
import { changeLock } from '../../../../src/sync/store/lock-file.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { never, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

type Place = Pick<Revision, 'ref' | 'commit' | 'tag'>

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40)) as [ObjectId, ObjectId, ObjectId, ObjectId]
const TAG: Place = { ref: 'refs/tags/v1', commit: A, tag: C }
const BRANCH: Place = { ref: 'refs/heads/main', commit: A }

test.each<readonly [string, Place, Place, string, number]>([
  ['a tag as it was', TAG, TAG, 'current', 0],
  ['a tag object made anew at the same commit', TAG, { ...TAG, tag: D }, 'tag-moved', 3],
  ['a tag that became a plain one at the same commit', TAG, { ref: TAG.ref, commit: A }, 'tag-moved', 3],
  ['a tag at another commit', TAG, { ...TAG, commit: B, tag: D }, 'tag-moved', 3],
  ['a branch as it was', BRANCH, BRANCH, 'current', 0],
  ['a branch that was renamed', BRANCH, { ...BRANCH, ref: 'refs/heads/trunk' }, 'current', 0],
  ['a branch at another commit', BRANCH, { ...BRANCH, commit: B }, 'moved', 3],
  ['a commit that was locked by its id, and a tag at it', { ref: A, commit: A }, TAG, 'current', 0],
])('%s is told as what it is', async (_, locked, upstream, state, status) => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'skillsyncd.yaml')
  await writeFile(file, 'sources: [{ id: team, url: https://git.example.com/a.git }]\nstate: state\n')
  const context = contextOf(folder.path, file, upstream)
  const config = await readConfig({ file }, context.environment)
  const { source } = configuredIn(config, sourceId('team'))
  const entry = lockEntryOf(source, { ...snapshotOf(), revision: { asked: source.ref, ...locked } })
  const sources = new Map([[source.id, entry]])
  await changeLock(config.lock ?? '', (before) => ({ ...before, sources }), Date.now, never())

  const end = await printUpstream(context, config)

  expect(end).toBe(status)
  expect(JSON.parse(String(context.streams.stdout.read()))).toMatchObject({
    sources: [{ source: 'team', state, locked, upstream }],
  })
})

interface Streams {
  readonly streams: { readonly stdin: PassThrough; readonly stdout: PassThrough; readonly stderr: PassThrough }
}

/** A command without a daemon, whose writer finds the ref of each source there. */
function contextOf(home: string, file: string, found: Place): Context<WholeConfig> & Streams {
  const [daemon, answer] = [{ [Symbol.asyncDispose]: async () => {} }, async () => found]
  return {
    streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    environment: environmentOf({}, home),
    redactor: new Redactor(),
    operands: [],
    values: { config: file },
    json: true,
    quiet: true,
    logLevel: 'error',
    signal: never(),
    result: { isPrinted: false },
    stop: () => {},
    onHangUp: () => {},
    configuration: async () => import('../../../../src/daemon/configuration.ts'),
    becomeWriter: async () => ({ daemon, answer, ...daemon }) as unknown as Writer,
    features: COMMAND_FEATURES,
    runVariant: async (name) => {
      throw new Error(`${name} is not asked for`)
    },
    commands: new Map(),
  }
}
