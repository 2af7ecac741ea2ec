import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { skillText } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { pathsIn, problemsIn } from '../support/verdicts.ts'
import { Desk, TEAM } from './desk.ts'

const BAD = skillText('pdf')
const SIDE = { 'skills/pdf/run.sh': 'echo one\n' }

/** A daemon that served `skills/pdf` until the operator disabled it. */
async function disabledDesk(source: readonly string[] = []): Promise<Desk> {
  const desk = await Desk.open(source)
  await desk.repository.commit({
    'skills/pdf/SKILL.md': BAD,
    ...SIDE,
    'skills/good/SKILL.md': skillText('good'),
  })
  await desk.start()
  await desk.sync()
  await desk.daemon.parts.decisions.disable(TEAM, 'skills/pdf', true)
  return desk
}

test.each([
  ['moves it to another folder', { 'skills/pdf': null, 'skills/pdf-2/SKILL.md': BAD }],
  ['copies it', { 'more/pdf/SKILL.md': BAD }],
  ['links to its folder', { 'more/pdf': { link: '../skills/pdf' } }],
  ['changes the case of its folder', { 'skills/pdf': null, 'skills/PDF/SKILL.md': BAD, 'skills/PDF/run.sh': 'two\n' }],
  ['changes a file beside it as it moves', { 'skills/pdf': null, 'a/b/SKILL.md': BAD, 'a/b/run.sh': 'echo two\n' }],
  ['gives its name to something else', { 'skills/pdf': null, 'more/pdf/SKILL.md': `${BAD}changed\n` }],
  ['gives its URI to something else', { 'skills/pdf': null, 'skills/other/SKILL.md': `${BAD}changed\n` }],
  ['puts its SKILL.md into another skill', { 'skills/good/references/more.md': BAD }],
  ['changes it where it is', { 'skills/pdf/SKILL.md': `${BAD}changed\n` }],
] as const)('a disabled skill stays out of service when its author %s', async (_, files) => {
  await using desk = await disabledDesk()

  const outcome = await desk.sync()
  await desk.repository.commit(files)
  const moved = await desk.sync()

  expect([outcome.kind, moved.kind]).toEqual(['unchanged', 'updated'])
  expect(isServed(desk, BAD)).toBe(false)
  expect(desk.names().filter((name) => name !== 'good')).toEqual([])
})

test('a skill that holds a disabled one is out of service with it, and back with it', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit({ 'outer/SKILL.md': skillText('outer'), 'outer/inner/SKILL.md': skillText('inner') })
  await desk.start()
  await desk.sync()

  await desk.daemon.parts.decisions.disable(TEAM, 'outer/inner', true)
  const { catalog } = desk.daemon.registry
  await desk.daemon.parts.decisions.disable(TEAM, 'outer/inner', false)

  expect([catalog.skills.size, catalog.files.has('skill://team/outer/inner/SKILL.md')]).toEqual([0, false])
  expect(desk.names()).toEqual(['outer', 'inner'])
})

test('what a disabled skill becomes step by step stays out of service, and each new place is told once', async () => {
  await using desk = await disabledDesk()
  const renamed = skillText('printer')

  await desk.repository.commit({ 'skills/pdf/SKILL.md': renamed })
  await desk.sync()
  await desk.repository.commit({ 'skills/pdf': null, 'skills/printer/SKILL.md': renamed })
  await desk.sync()
  await desk.repository.commit({ 'skills/printer/SKILL.md': `${skillText('paper')}changed\n` })
  await desk.start()
  await desk.sync()

  expect(desk.names()).toEqual(['good'])
  expect(desk.logged('disabled-returns')).toMatchObject([
    { level: 'warn', source: 'team', skill: 'skills/printer', disabled: 'team/skills/pdf', by: 'content' },
  ])
  expect(pathsIn(desk.status(), 'disabled')).toEqual(['skills/printer', 'skills/pdf'])
  expect(problemsIn(desk.status()).filter(({ code }) => code === 'disabled')).toMatchObject([
    { code: 'disabled', place: 'team/skills/pdf', message: expect.stringContaining('it has the SKILL.md of') },
    { code: 'disabled', place: 'team/skills/pdf', fix: 'skillsyncd enable team/skills/pdf' },
  ])
})

test('to enable one of the places serves all of them again', async () => {
  await using desk = await disabledDesk()
  await desk.repository.commit({ 'skills/pdf': null, 'a/pdf/SKILL.md': BAD, 'b/pdf/SKILL.md': `${BAD}changed\n` })
  await desk.sync()

  const { isNew, places, still } = await desk.daemon.parts.decisions.disable(TEAM, 'a/pdf', false)

  expect([isNew, still, places.map(({ place }) => place)]).toEqual([true, undefined, ['team/a/pdf', 'team/b/pdf']])
  expect(desk.names()).toEqual(['pdf', 'pdf', 'good'])
  expect(pathsIn(desk.status(), 'disabled')).toEqual([])
})

test('a skill of the same name that was there at the time stays, and one that comes later does not', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit({ 'a/pdf/SKILL.md': BAD, 'b/pdf/SKILL.md': `${BAD}other\n` })
  await desk.start()
  await desk.sync()

  await desk.daemon.parts.decisions.disable(TEAM, 'a/pdf', true)
  const before = paths(desk)
  await desk.repository.commit({ 'c/pdf/SKILL.md': `${BAD}new\n` })
  await desk.sync()

  expect([before, paths(desk)]).toEqual([['b/pdf'], ['b/pdf']])
})

test('a copy in another source is out of service too, unless that is left alone, and nothing else of it ever is', async () => {
  await using desk = await Desk.open([], '  - { id: other, url: file:///nowhere }')
  const other = await mirrored(desk)
  await desk.repository.commit({ 'pdf/SKILL.md': BAD })
  await other.commit({ 'mine/SKILL.md': BAD, 'victim/SKILL.md': skillText('victim') })
  await desk.start()
  await pullNow(desk.daemon)

  const { places } = await desk.daemon.parts.decisions.disable(TEAM, 'pdf', true)
  const without = desk.names()
  // Its author puts the text of another source in its place.
  await desk.repository.commit({ 'pdf/SKILL.md': skillText('victim') })
  await pullNow(desk.daemon)
  const after = desk.names()
  await desk.daemon.parts.decisions.disable(TEAM, 'pdf', false)
  await desk.repository.commit({ 'pdf/SKILL.md': BAD })
  await pullNow(desk.daemon)
  await desk.daemon.parts.decisions.disable(TEAM, 'pdf', true, { sourceOnly: true })

  expect(places.map(({ place, by }) => [place, by])).toEqual([
    ['team/pdf', 'path'],
    ['other/mine', 'content'],
  ])
  expect([without, after, desk.names()]).toEqual([['victim'], ['victim'], ['pdf', 'victim']])
  await other[Symbol.asyncDispose]()
})

test('a commit that has a disabled skill at more places than are remembered is held, and stays out once it is approved', async () => {
  await using desk = await disabledDesk()
  const first = desk.served()
  const copies = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`copies/c${index}/SKILL.md`, BAD]))
  const commit = await desk.repository.commit(copies)

  const held = await desk.sync()
  const kept = desk.served()
  await desk.decide('approve', commit)
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'disabled-returns' } })
  expect([kept, approved.kind, desk.served()]).toEqual([first, 'updated', commit])
  expect(desk.names()).toEqual(['good'])
})

test('a rollback to before a rename has the disabled skill out of service as well', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit({ 'old/SKILL.md': BAD, 'good/SKILL.md': skillText('good') })
  await desk.start()
  await desk.sync()
  await desk.repository.commit({ old: null, 'new/SKILL.md': BAD })
  await desk.sync()
  await desk.daemon.parts.decisions.disable(TEAM, 'new', true)

  await desk.hold(first)

  expect([desk.served(), desk.names()]).toEqual([first, ['good']])
})

test('a document of the docs folder that is the SKILL.md of a disabled skill is no document', async () => {
  await using desk = await Desk.open(['docs: docs', 'root: skills', 'contract: true'])
  await desk.repository.commit({ 'skills/pdf/SKILL.md': BAD, 'docs/guide.md': 'words\n', 'docs/pdf.md': BAD })
  await desk.start()
  await desk.sync()

  await desk.daemon.parts.decisions.disable(TEAM, 'pdf', true)

  const [snapshot] = desk.daemon.registry.catalog.snapshots
  expect(snapshot?.docs?.files.map(({ path }) => path)).toEqual(['guide.md'])
})

/** The repository of a second source, `other`. */
async function mirrored(desk: Desk): Promise<Repository> {
  const repository = await Repository.create()
  desk.rest = [`  - { id: other, url: "${desk.git.serve('other', repository)}" }`]
  return repository
}

function paths({ daemon }: Desk): string[] {
  return daemon.registry.catalog.listed.map(({ skill }) => skill.path)
}

/** Whether a file of the catalog has these bytes. */
function isServed({ daemon }: Desk, text: string): boolean {
  const digest = createHash('sha256').update(text).digest('hex')
  return [...daemon.registry.catalog.files.values()].some(({ file }) => file.sha256 === digest)
}
