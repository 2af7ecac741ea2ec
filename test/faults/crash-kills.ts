import { relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasProgram } from '../support/process/has-program.ts'
import { callsOf, runUntil, steady } from './calls.ts'
import type { Call } from './calls.ts'
import type { CrashScene } from './crash-scenes.ts'
import type { Found, Stage } from './crash-stage.ts'

/** Every call there is, for half an hour; otherwise one of each kind: of the same name, at the same sort of path. */
const ALL = process.env['CRASH_AT'] === 'every-call'

/** `2/5`: the second of five parts of them. */
const [PART = 1, PARTS = 1] = (process.env['CRASH_PART'] ?? '1/1').split('/').map(Number)

const OBSTACLE = hasProgram('strace') ? undefined : 'there is no strace'

/** Has each scene's program killed before its calls, and expects the old or the new state after each, whole. */
export function keepsOldOrNew(scenes: readonly CrashScene[]): void {
  describe.skipIf(OBSTACLE !== undefined)(
    `a program that is killed${OBSTACLE === undefined ? '' : `: ${OBSTACLE}`}`,
    () => {
      test.for(scenes)(
        'before any call of $title comes back to the old or the new, whole',
        { timeout: HOURS_MS },
        async (scene) => {
          await using stage = await scene.set()
          const { ended, calls, tries } = await killInEachCall(scene, stage)

          expect(ended.status).toBe(0)
          expect(strayIn(calls, scene, stage), 'written elsewhere').toEqual([])
          expect(tries.filter(({ bad }) => bad.length > 0)).toEqual([])
          const reached = new Set(tries.filter(({ isKilled }) => isKilled).map(({ kind }) => kind))
          expect(tries.filter(({ kind }) => !reached.has(kind))).toEqual([])
          report(scene, calls, tries)
        },
      )
    },
  )
}

/** The run that is not killed, its calls, and what became of the runs that were killed before one of them. */
interface Kills {
  readonly ended: Awaited<ReturnType<typeof callsOf>>[0]
  readonly calls: readonly Call[]
  readonly tries: readonly Try[]
}

async function killInEachCall(scene: CrashScene, stage: Stage): Promise<Kills> {
  await stage.keep()
  const before = await foundIn(scene, stage)
  steady(stage.home)
  const [ended, calls] = await callsOf(stage.home, stage.log, scene.args)
  const after = await foundIn(scene, stage)
  await scene.again(stage)
  const last: Last = { before, after, picture: await stage.picture() }

  const tries: Try[] = []
  for (const call of pointsOf(calls, scene, stage).filter(isOurs)) tries.push(await reachedAt(call, scene, stage, last))
  return { ended, calls, tries }
}

/** It ends what hangs, and judges nothing. */
const HOURS_MS = 4 * 3_600_000

function isOurs(_: Call, index: number): boolean {
  return index % PARTS === PART - 1
}

interface Last {
  readonly before: Seen
  readonly after: Seen
  readonly picture: readonly string[]
}

interface Seen extends Found {
  /** What another machine finds. */
  readonly seen: string | undefined
}

async function foundIn({ sees }: CrashScene, stage: Stage): Promise<Seen> {
  return { ...(await stage.found()), seen: await sees?.(stage) }
}

interface Try {
  readonly kind: string
  readonly at: string
  readonly isKilled: boolean
  /** What was not as it should be. */
  readonly bad: readonly string[]
}

/** Threads are not in step: what one of them did in another order than before is reached the next time. */
async function reachedAt(call: Call, scene: CrashScene, stage: Stage, last: Last): Promise<Try> {
  let tried = await killedAt(call, scene, stage, last)
  for (let again = 0; !tried.isKilled && again < MOST_AGAIN; again += 1)
    tried = await killedAt(call, scene, stage, last)
  return tried
}

const MOST_AGAIN = 3

async function killedAt(call: Call, scene: CrashScene, stage: Stage, last: Last): Promise<Try> {
  await stage.restore()
  const ended = await runUntil(stage.home, stage.log, call, scene.args)
  const at = `${call.nth} ${call.name} ${relative(stage.home.path, call.path)}`
  const bad = await flawsOf(scene, stage, last).catch((error: unknown) => [String(error)])
  return { kind: kindOf(call, stage), at, isKilled: ended.signal === 'SIGKILL', bad }
}

async function flawsOf(scene: CrashScene, stage: Stage, last: Last): Promise<readonly string[]> {
  const bad: string[] = []
  const { before, after } = last
  const found = await foundIn(scene, stage)
  if (![before.served, after.served].includes(found.served)) bad.push(`serves neither: ${found.served}`)
  if (![before.seen, after.seen].includes(found.seen)) bad.push(`publishes neither: ${found.seen}`)
  if (![before.lock, after.lock].includes(found.lock)) bad.push(`locks neither: ${found.lock}`)
  for (const [name, text] of Object.entries(found.linked))
    if (![before.linked[name], after.linked[name]].includes(text)) bad.push(`links "${name}" to neither: ${text}`)

  await scene.again(stage)
  const picture = await stage.picture()
  const more = picture.filter((line) => !last.picture.includes(line))
  const fewer = last.picture.filter((line) => !picture.includes(line))
  return [...bad, ...more.map((line) => `leaves ${line}`), ...fewer.map((line) => `lacks ${line}`)]
}

/** The calls that the program is killed before, in order. */
function pointsOf(calls: readonly Call[], scene: CrashScene, stage: Stage): readonly Call[] {
  const { path } = stage.home
  const below = calls.filter((call) => call.path.startsWith(`${path}/`) && !isRenewal(call))
  // strace counts for each thread apart, and the first that comes so far is where the program ends.
  const distinct = [
    ...new Map(below.toReversed().map((call) => [`${call.nth} ${call.name} ${call.path}`, call])).values(),
  ]
  const inOrder = distinct.toReversed()
  if (ALL) return inOrder.filter(({ changes }) => changes).concat(inOrder.filter(({ changes }) => !changes))
  const own = inOrder.filter((call) => call.changes && scene.isAbout(written(call, path)))
  return [...new Map(own.toReversed().map((call) => [kindOf(call, stage), call])).values()].toReversed()
}

/** True for the renewal of the lease in the lock: it comes by time, and only a slow run has one. */
function isRenewal({ name, path }: Call): boolean {
  return name === 'pwrite64' && path.endsWith('/daemon.lock')
}

/** The same for calls that differ in what has no meaning: digests, numbers, the names of skills. */
function kindOf(call: Call, stage: Stage): string {
  const kind = written(call, stage.home.path)
    .replaceAll(/\.tmp-\w+|\b[0-9a-f]{16,64}\b/g, '*')
    .replaceAll(/\b(?:\d+|changed|added|removed|still)\b/g, '*')
  return call.changes ? `${kind}${nearness(call)}` : `${kind} to read`
}

/** Each write to the database is another step of a transaction: one is a kind of its own for each power of two. */
function nearness({ path, nth }: Call): string {
  return /\/store\.db(?:-wal)?$/.test(path) ? ` after ${Math.floor(Math.log2(nth))}` : ''
}

/** The name of the call, and what it names, from the home on. */
function written({ name, path, other }: Call, home: string): string {
  return [name, relative(home, path), ...(other === undefined ? [] : [relative(home, other)])].join(' ')
}

/** What was written where nothing should be. */
function strayIn(calls: readonly Call[], { writes }: CrashScene, { home }: Stage): readonly Call[] {
  const places = [home.state, `${home.path}/run`, ...writes.map((place) => `${home.path}/${place}`)]
  const isMeant = (path: string): boolean => places.some((place) => path === place || path.startsWith(`${place}/`))
  return calls.filter(({ path, changes }) => changes && !isMeant(path))
}

function report({ title }: CrashScene, calls: readonly Call[], tries: readonly Try[]): void {
  const killed = tries.filter(({ isKilled }) => isKilled).length
  const kinds = new Set(tries.map(({ kind }) => kind)).size
  process.stdout.write(
    `${title}: ${calls.length} calls, ${tries.length} aimed at, ${killed} killed before, ${kinds} kinds\n`,
  )
}
