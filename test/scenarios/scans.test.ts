import { expect, test } from 'vitest'
import { idsOf } from '../../src/daemon/config/config.ts'
import { admissionOf } from '../../src/daemon/pull/trust/serving-policy.ts'
import type { ScanEnd, ScanRequest } from '../../src/features/scan/scan-run.ts'
import { currentCatalog } from '../../src/sync/pull/generation-catalog.ts'
import { Store } from '../../src/sync/store/store.ts'
import { skillText } from '../support/git/scripted-upstream.ts'
import { WordScanner } from '../support/scanner/word-scanner.ts'
import { pathsIn, problemsIn } from '../support/verdicts.ts'
import { Desk, named, skills, TEAM } from './desk.ts'

const NEVER = new AbortController().signal

test('a skill that new rules refuse goes out of service, and comes back when a later scan clears it', async () => {
  await using scene = await sceneOf(['rescan: {}'], { ...skills('good', 'fine'), 'bad/SKILL.md': skillText('bad') })
  const { desk, scanner } = scene
  await scanner.obeys('error bad')

  const end = await scene.scan()
  const withheld = desk.names()
  const out = desk.status()
  await desk.start()
  const restarted = desk.names()
  await scanner.obeys()
  const after = await scene.scan()

  expect(end).toMatchObject({ scanned: 3, refused: [{ skill: 'team/bad', is: 'withheld' }], failed: [], cleared: [] })
  expect(withheld).toEqual(['fine', 'good'])
  expect(out.tally).toMatchObject({ disabled: 1 })
  expect(problemsIn(out)).toMatchObject([{ code: 'skill-scanned', place: 'team/bad', state: 'disabled' }])
  expect(restarted).toEqual(withheld)
  expect(after).toMatchObject({ refused: [], cleared: ['team/bad'] })
  expect(desk.names()).toEqual(['bad', 'fine', 'good'])
  expect(desk.logged('scan-withheld')).toMatchObject([{ source: 'team', skill: 'bad' }])
})

test('rules that refuse a large share of the skills take nothing out of service until an operator says so', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills(...named(8)))
  const { desk, scanner } = scene
  await scanner.obeys('error description')

  const held = await scene.scan()
  const status = desk.daemon.parts.status.status().scans
  const served = desk.names().length
  const forced = await scene.scan({ withholdsAll: true })

  expect(held.waiting).toEqual({ skills: 8, of: 8, mostPercent: 10 })
  expect(new Set(held.refused.map(({ is }) => is))).toEqual(new Set(['served']))
  expect(status).toMatchObject({ scanner: 'command', waiting: { skills: 8 } })
  expect(served).toBe(8)
  expect(desk.logged('scan-waiting')).toHaveLength(1)
  expect(forced.waiting).toBeUndefined()
  expect(desk.names()).toEqual([])
})

test('with on_finding: alert, a finding is reported and the skill stays', async () => {
  await using scene = await sceneOf(['rescan: { on_finding: alert }'], skills('a', 'b', 'bad'))
  await scene.scanner.obeys('error bad')

  const end = await scene.scan()

  expect(end.refused).toEqual([{ skill: 'team/bad', is: 'served' }])
  expect(scene.desk.names()).toEqual(['a', 'b', 'bad'])
  expect(scene.desk.logged('scan-refused')).toMatchObject([{ skill: 'bad' }])
})

test('a skill that a person enables stays in service, until its content changes', async () => {
  await using scene = await sceneOf(['rescan: {}', 'sarif: { refuse: error }'], skills('a', 'b', 'bad'))
  const { desk, scanner } = scene
  await scanner.obeys('error bad')
  await scene.scan()

  await desk.daemon.parts.decisions.disable(TEAM, 'bad', false)
  const again = await scene.scan({ isFresh: true })
  await desk.start()

  expect(again).toMatchObject({ refused: [{ skill: 'team/bad', is: 'accepted' }], cleared: [] })
  expect(desk.names()).toEqual(['a', 'b', 'bad'])
})

test('a person who disables what a scan withheld has the last word', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills('a', 'b', 'bad'))
  const { desk, scanner } = scene
  await scanner.obeys('error bad')
  await scene.scan()

  await desk.daemon.parts.decisions.disable(TEAM, 'bad', true)
  await scanner.obeys()
  await scene.scan()

  expect(desk.names()).toEqual(['a', 'b'])
  expect(pathsIn(desk.status(), 'disabled')).toEqual(['bad'])
})

test('new content of a withheld skill is served when the gate takes it', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills('a', 'b', 'bad'))
  const { desk, scanner } = scene
  await scanner.obeys('error bad of')
  await desk.repository.commit({ 'bad/SKILL.md': `${skillText('bad')}bad of the tests\n` })
  const refused = await desk.sync()
  await scanner.obeys('error bad')
  await scene.scan()
  const withheld = desk.names()
  await scanner.obeys('error never')
  await desk.repository.commit({ 'bad/SKILL.md': `${skillText('bad')}mended\n` })

  const mended = await desk.sync()

  expect([refused.kind, mended.kind]).toEqual(['failed', 'updated'])
  expect(withheld).toEqual(['a', 'b'])
  expect(desk.names()).toEqual(['a', 'b', 'bad'])
  expect((await scene.scan()).cleared).toEqual(['team/bad'])
})

test('each version that a ring serves is scanned, and is out of service for as long as one serves it', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills(...named(8), 'bad'), RINGS)
  const { desk, scanner } = scene
  await desk.daemon.parts.rings.promote({ sources: [], ring: undefined, isForced: true })
  await desk.repository.commit({ 'bad/SKILL.md': `${skillText('bad')}second\n` })
  await desk.sync()
  await scanner.obeys('error bad')

  const end = await scene.scan()
  const both = [desk.names(), await inStable(desk)]
  await scanner.obeys('error second')
  const cleared = await scene.scan()
  const one = [desk.names(), await inStable(desk)]
  await scanner.obeys('error bad')
  await scene.scan()
  await desk.repository.commit({ 'bad/SKILL.md': null })
  await desk.sync()
  await scene.scan()

  expect(end.refused).toHaveLength(2)
  expect(both).toEqual([named(8), named(8)])
  expect(cleared.cleared).toEqual(['team/bad'])
  expect(one).toEqual([named(8), ['bad', ...named(8)].toSorted()])
  // Upstream has removed it from the first ring, and the last one still has it.
  expect(await inStable(desk)).toEqual(named(8))
})

test('a scanner that fails leaves everything as it is', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills(...named(6), 'bad'))
  const { desk, scanner } = scene
  await scanner.obeys('error bad')
  await scene.scan()
  await scanner.obeys('fail all')

  const failed = scene.scan()

  await expect(failed).rejects.toMatchObject({ code: 'scan-failed', message: expect.stringContaining('are broken') })
  expect(desk.names()).toEqual(named(6))
})

test('a run that is stopped goes on where it was', async () => {
  await using scene = await sceneOf(['rescan: {}'], skills(...named(4)))
  const { scanner } = scene
  await scanner.obeys('note description')
  const before = await scanner.runs()
  const stop = new AbortController()

  const stopped = scene.scan({}, stop.signal, ({ done }) => done === 2 && stop.abort())
  await expect(stopped).rejects.toThrow(/abort/i)
  const end = await scene.scan()

  expect(end).toMatchObject({ scanned: 4, counts: { note: 4 } })
  expect((await scanner.runs()) - before).toBe(4)
})

test('everything is scanned again when the rules change, and at the set times', async () => {
  await using scene = await sceneOf(['rescan: { every: 5m }'], skills('a', 'b', 'bad'))
  const { desk, scanner } = scene
  desk.daemon.poll()
  await scanner.obeys('error bad')

  await desk.clock.advance(10_000)
  await expect.poll(() => desk.logged('scan-ended'), WITHIN).toHaveLength(1)
  const names = desk.names()
  const runs = await scanner.runs()
  const next = desk.daemon.parts.status.status().scans?.next
  await desk.clock.advance(300_000)
  await expect.poll(() => desk.logged('scan-ended'), WITHIN).toHaveLength(2)

  expect(names).toEqual(['a', 'b'])
  expect(next).toBe(new Date(Date.UTC(2026, 5, 15, 12, 5, 10)).toISOString())
  expect((await scanner.runs()) - runs).toBe(3)
})

const RINGS = ['rings:', '  - { id: canary, principals: [early] }', '  - { id: stable, min_age: 3d }']

/** The names of the skills in the last ring, as the disk has them. */
async function inStable({ state, daemon }: Desk): Promise<readonly string[]> {
  using store = await Store.openExisting(state)
  await store!.decisions.read()
  const { config } = daemon
  const catalog = await currentCatalog(store!, idsOf(config), admissionOf(config), 'stable')
  return catalog.listed.map(({ name }) => name).toSorted()
}

const WITHIN = { timeout: 20_000 }

interface Scene extends AsyncDisposable {
  readonly desk: Desk
  readonly scanner: WordScanner
  scan(
    asked?: Partial<ScanRequest>,
    signal?: AbortSignal,
    onProgress?: (progress: { readonly done: number }) => unknown,
  ): Promise<ScanEnd>
}

/** A daemon that serves these files, which the scanner found clean. */
async function sceneOf(
  lines: readonly string[],
  files: Readonly<Record<string, string>>,
  rest: readonly string[] = [],
): Promise<Scene> {
  await using opened = new AsyncDisposableStack()
  const scanner = opened.use(await WordScanner.create())
  const desk = opened.use(await Desk.open([], ...scanner.gate(...lines), ...rest))
  await desk.repository.commit(files)
  await desk.start()
  await desk.sync()
  const held = opened.move()
  return {
    desk,
    scanner,
    scan: async (asked = {}, signal = NEVER, onProgress = () => {}) =>
      desk.daemon.parts.scans.scan(
        { sources: [TEAM], isFresh: false, withholdsAll: false, ...asked },
        onProgress,
        signal,
      ),
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}
