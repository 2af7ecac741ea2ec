import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstPlace } from '../../../src/sync/model/decisions/out-of-service.ts'
import { recallIdOf } from '../../../src/sync/model/decisions/published-recall.ts'
import type { NameRule } from '../../../src/sync/model/decisions/rules.ts'
import { isObjectId } from '../../../src/sync/model/revision.ts'
import { withNaming, withoutNaming } from '../../../src/sync/model/uris/named-uris.ts'
import type { DecisionStore } from '../../../src/sync/store/decision-store.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { disabledPaths, disableRule, setDisabled, setHold } from '../../support/decided.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sourceId } from './samples.ts'

const HELD = { noPoll: true, at: '2026-06-15T10:00:00.000Z' } as const

const TEAM = sourceId('team')
const COMMIT = 'a'.repeat(40)

test('decisions are there again for whoever opens the store next, and none leaves no trace of itself', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  if (!isObjectId(COMMIT)) throw new Error(COMMIT)
  const hold = { commit: COMMIT, at: HELD.at }

  await setHold(decisions, TEAM, hold)
  await setHold(decisions, sourceId('other'), HELD)
  await setHold(decisions, sourceId('other'), undefined)

  const read = await (await Store.open(folder.path)).decisions.read()
  expect(read).toEqual(new Map([[TEAM, { hold }]]))
  expect([decisions.of(TEAM), decisions.of(sourceId('other'))]).toEqual([{ hold }, {}])
})

test('disabled skills are kept beside the decisions, each once, and neither is lost for the other', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)

  const news = [
    await setDisabled(decisions, TEAM, 'b', true),
    await setDisabled(decisions, TEAM, '', true),
    await setDisabled(decisions, TEAM, 'b', true),
    await setDisabled(decisions, sourceId('other'), 'x', true),
    await setDisabled(decisions, sourceId('other'), 'x', false),
    await setDisabled(decisions, sourceId('other'), 'x', false),
  ]
  await setHold(decisions, TEAM, HELD)

  const { decisions: read } = await Store.open(folder.path)
  expect(await read.read()).toEqual(new Map([[TEAM, { hold: HELD }]]))
  expect(news).toEqual([true, true, false, true, true, false])
  expect(pathsIn(read)).toEqual(['', 'b'])
})

test('skills that are named by their URIs are kept beside the decisions, each as it was named last', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const name = async (path: string, how: Pick<NameRule, 'who' | 'unverified'>): Promise<boolean> =>
    decisions.change((rules) => withNaming(rules, nameRule(path, how)))
  const unname = async (path: string): Promise<boolean> =>
    decisions.change((rules) => withoutNaming(rules, TEAM, uriOf(path)))

  const news = [
    await name('a', { who: 'ada' }),
    await name('a', { who: 'bob' }),
    await name('a', { who: 'ada', unverified: true }),
    await name('b', { who: 'ada' }),
    await unname('b'),
    await unname('b'),
  ]
  await setDisabled(decisions, TEAM, 'b', true)

  const { decisions: read } = await Store.open(folder.path)
  await read.read()
  expect(news).toEqual([true, false, true, true, true, false])
  expect(read.namings).toEqual([nameRule('a', { who: 'ada', unverified: true })])
  expect(pathsIn(read)).toEqual(['b'])
})

test('the history says of a scan what became of the skill, whatever else it cleared', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const [first, second] = ['a'.repeat(64), 'b'.repeat(64)]
  const at = '2026-11-22T00:00:00.000Z'
  const scan = async (withheld: readonly string[], cleared: readonly string[]): Promise<void> => {
    const contents = (digests: readonly string[]) => digests.map((digest) => ({ source: TEAM, path: 'pdf', digest }))
    await decisions.disableByScan({ withheld: contents(withheld), cleared: contents(cleared), at })
  }

  await scan([first], [])
  await scan([second], [first])
  await scan([first], [])
  await scan([], [first])
  await scan([], [second])

  const { decisions: read } = await Store.open(folder.path)
  await read.read()
  expect(read.history.map(({ by, decision, skill }) => [by, decision, skill])).toEqual([
    ['scan', 'disable', 'pdf'],
    ['scan', 'disable', 'pdf'],
    ['scan', 'disable', 'pdf'],
    ['scan', 'enable', 'pdf'],
  ])
})

test('a decision that is made again changes nothing, and is in the history once', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const decided = { at: HELD.at, by: 'person', who: 'ada', decision: 'hold', source: TEAM } as const

  await setHold(decisions, TEAM, HELD, decided)
  await setHold(decisions, TEAM, { ...HELD }, decided)

  expect(decisions.history).toEqual([decided])
})

test('what a followed hub recalls is in the history at the time at which it is obeyed', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const at = '2026-11-22T00:00:00.000Z'
  const person = { at: '2026-11-21T00:00:00.000Z', by: 'person', who: 'ada' } as const
  const contents = ['a'.repeat(64)]
  const told = '2099-01-01T00:00:00.000Z'
  const recall = { id: recallIdOf({ at: told, contents }), at: told, contents, reason: 'it leaks', places: [] }

  await decisions.disable({ source: TEAM, path: 'pdf', decider: person })
  await decisions.obey(TEAM, { log: 'hub.example/log', below: undefined, list: contents[0]!, recalls: [recall], at })

  expect(decisions.history).toMatchObject([
    { by: 'person', who: 'ada', decision: 'disable', skill: 'pdf' },
    { at, by: 'hub', who: 'hub.example/log', decision: 'disable', skill: contents[0], reason: 'it leaks' },
  ])
})

test('a file in which a naming is no naming is damaged', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const rules = [{ ...nameRule('a', { who: 'ada' }), unverified: false }]
  await writeFile(join(folder.path, 'decisions.json'), JSON.stringify({ rules }))

  await expect(decisions.read()).rejects.toMatchObject({ code: 'store-failed' })
})

test.each([
  ['gone', async (file: string) => rm(file)],
  ['of zeros', async (file: string) => writeFile(file, Buffer.alloc(20))],
  ['a folder', async (file: string) => rm(file).then(async () => mkdir(file))],
])('decisions are had from their copy where the file is %s, and it is told', async (_, harm) => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  await setDisabled(decisions, TEAM, 'a', true)
  await setDisabled(decisions, TEAM, 'b', true)
  await harm(decisions.file)

  const { decisions: read } = await Store.open(folder.path)
  await read.read()

  expect(pathsIn(read)).toEqual(['a', 'b'])
  expect(read.damage).toMatchObject({ code: 'store-failed', message: expect.stringContaining(read.file) })
  expect([read.areUnknown, read.of(TEAM)]).toEqual([false, {}])
})

test.each(['', '{', '{"rules":[{"effect":"withdraw","on":"a"}]}', '{"sources":{}}'])(
  'a copy of %j is written anew before anybody needs it, and so is one that is gone',
  async (text) => {
    await using folder = await temporaryFolder()
    const { decisions } = await Store.open(folder.path)
    await setDisabled(decisions, TEAM, 'a', true)
    const sound = await readFile(decisions.copy, 'utf8')

    await writeFile(decisions.copy, text)
    const isMended = await decisions.mend()
    const mended = await readFile(decisions.copy, 'utf8')
    await rm(decisions.copy)
    await decisions.mend()

    expect([isMended, mended]).toEqual([true, sound])
    expect(await readFile(decisions.copy, 'utf8')).toBe(sound)
  },
)

test('a file that a person put there is what counts, and the copy becomes the same', async () => {
  await using folder = await temporaryFolder()
  const { decisions: before } = await Store.open(folder.path)
  await setDisabled(before, TEAM, 'a', true)
  await writeFile(before.file, JSON.stringify({ rules: [disableRule([{ source: TEAM, path: 'b' }])] }))

  const { decisions } = await Store.open(folder.path)
  await decisions.read()
  await decisions.mend()
  await rm(decisions.file)
  await decisions.read()

  expect(pathsIn(decisions)).toEqual(['b'])
})

test('where neither can be read nothing is known before a person mended one of them, and what was known stays known', async () => {
  await using folder = await temporaryFolder()
  const { decisions: before } = await Store.open(folder.path)
  await before.read()
  await setDisabled(before, TEAM, 'a', true)
  const sound = await readFile(before.file)
  await writeFile(before.file, '{')
  await writeFile(before.copy, '{')

  const { decisions } = await Store.open(folder.path)
  const failed = decisions.read()

  await expect(failed).rejects.toMatchObject({ code: 'store-failed', message: expect.stringContaining(before.copy) })
  await expect(before.read()).rejects.toMatchObject({ code: 'store-failed' })
  await expect(setDisabled(decisions, TEAM, 'b', true)).rejects.toMatchObject({ code: 'store-failed' })
  expect([decisions.areUnknown, before.areUnknown]).toEqual([true, false])
  expect(pathsIn(before)).toEqual(['a'])
  await writeFile(before.file, sound)
  await decisions.read()
  expect([decisions.areUnknown, pathsIn(decisions)]).toEqual([false, ['a']])
})

test('where both files are gone what was decided holds by its record, and nothing is written before a person decides', async () => {
  await using folder = await temporaryFolder()
  const { decisions: before } = await Store.open(folder.path)
  await setDisabled(before, TEAM, 'a', true)
  const sound = await readFile(before.file, 'utf8')
  for (const path of [before.file, before.copy]) await rm(path)

  const { decisions } = await Store.open(folder.path)
  await decisions.read()
  const { loss } = decisions
  const isMended = await decisions.mend()
  const left = (await readdir(folder.path)).filter((name) => name.startsWith('decisions'))
  const known = pathsIn(decisions)
  await setDisabled(decisions, TEAM, 'b', true)

  expect(loss).toMatchObject({ code: 'store-failed', message: expect.stringContaining(`cp "${before.record}"`) })
  expect([isMended, left, known]).toEqual([false, [], ['a']])
  expect([decisions.loss, await readFile(before.record, 'utf8')]).toEqual([
    undefined,
    await readFile(before.file, 'utf8'),
  ])
  expect(sound).not.toBe(await readFile(before.file, 'utf8'))
})

test('where nothing was ever decided, or all was taken back, no file is missed', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  await decisions.read()
  const never = decisions.loss
  await setDisabled(decisions, TEAM, 'a', true)
  await setDisabled(decisions, TEAM, 'a', false)
  for (const path of [decisions.file, decisions.copy]) await rm(path)

  await decisions.read()

  expect([never, decisions.loss, decisions.areUnknown]).toEqual([undefined, undefined, false])
})

test('where the record of what was decided is damaged as well nothing is known', async () => {
  await using folder = await temporaryFolder()
  const { decisions: before } = await Store.open(folder.path)
  await setDisabled(before, TEAM, 'a', true)
  for (const path of [before.file, before.copy]) await rm(path)
  await writeFile(before.record, '{')

  const { decisions } = await Store.open(folder.path)

  await expect(decisions.read()).rejects.toMatchObject({ code: 'store-failed' })
  expect(decisions.areUnknown).toBe(true)
})

test('what a build without a record decided has one once it is mended', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  await setDisabled(decisions, TEAM, 'a', true)
  await rm(decisions.record)

  await decisions.mend()

  expect(await readFile(decisions.record, 'utf8')).toBe(await readFile(decisions.file, 'utf8'))
})

test('decisions that are made at once are all kept, and whoever reads meanwhile finds a whole file', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const ids = Array.from({ length: 40 }, (_, index) => sourceId(`s${index}`))
  const file = join(folder.path, 'decisions.json')
  await setHold(decisions, ids[0]!, HELD)

  const writing = Promise.all(ids.map((id) => setHold(decisions, id, HELD)))
  for (let look = 0; look < 200; look += 1) JSON.parse(await readFile(file, 'utf8'))
  await writing

  const read = await (await Store.open(folder.path)).decisions.read()
  expect(read.size).toBe(40)
})

test('a decision that cannot be written is not made, leaves no litter, and stands in the way of no other', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  const file = join(folder.path, 'decisions.json')
  await mkdir(join(file, 'in the way'), { recursive: true })
  const before = await readdir(folder.path)

  const failed = setHold(decisions, TEAM, HELD)

  await expect(failed).rejects.toMatchObject({ code: 'store-failed' })
  expect([decisions.of(TEAM), await readdir(folder.path)]).toEqual([{}, before])
  await rm(file, { recursive: true })
  await setHold(decisions, TEAM, HELD)
  expect((await decisions.read()).get(TEAM)).toEqual({ hold: HELD })
})

/** What is disabled of the one source of which something is. */
function pathsIn(decisions: DecisionStore): readonly string[] {
  const sources = decisions.outOfService.map((rule) => firstPlace(rule)?.source)
  expect(new Set(sources)).toEqual(new Set([TEAM]))
  return disabledPaths(decisions, TEAM)
}

function nameRule(path: string, how: Pick<NameRule, 'who' | 'unverified'>): NameRule {
  return {
    at: '2026-11-22T00:00:00.000Z',
    by: 'person',
    ...how,
    effect: 'name',
    on: { source: TEAM, uri: uriOf(path) },
  }
}

function uriOf(path: string): string {
  return `skill://${path}/SKILL.md`
}
