import { expect, test } from 'vitest'
import { followEntries, recallIn } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn, withoutDisabledDocs } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import { NOTHING_OUT } from '../../../../src/sync/model/decisions/out-of-service.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { MOST_RECALLS, recallIdOf } from '../../../../src/sync/model/decisions/published-recall.ts'
import type { PublishedRecall } from '../../../../src/sync/model/decisions/published-recall.ts'
import {
  newRecall,
  publishedRecalls,
  withList,
  withRecall,
  withRevoked,
} from '../../../../src/sync/model/decisions/recalled-skills.ts'
import type { RecallRule } from '../../../../src/sync/model/decisions/rules.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { disableRule, recallsIn } from '../../../support/decided.ts'
import { sample, snapshotOf, sourceId } from '../../store/samples.ts'

const [TEAM, OWN, HUB] = [sourceId('team'), sourceId('own'), sourceId('hub')]
const AT = '2026-06-15T12:00:00.000Z'
const PERSON = { at: AT, by: 'person' } as const
const LOG = 'hub.example/channel'

test('a digest that is recalled before it comes is out of service in every source, and then by its place there', () => {
  const bad = at('pdf', 'bad')
  const recall = newRecall([bad.digest ?? ''], 'bad', PERSON)
  const first = followEntries(outOf(recall), [snapshot(OWN, bad)])

  const changed = snapshot(OWN, at('pdf', 'changed'))
  const elsewhere = snapshot(TEAM, at('other/pdf', 'bad'), at('pdf', 'innocent'))

  expect(pathsOut(snapshot(OWN, bad), outOf(recall))).toEqual(['pdf'])
  expect(pathsOut(changed, first.out)).toEqual(['pdf'])
  expect(pathsOut(elsewhere, first.out)).toEqual(['other/pdf'])
})

test('the recall of another hub counts by path, URI and name in the sources of that hub, and elsewhere by content alone', () => {
  const places = [{ source: TEAM, path: 'pdf', servedPath: 'pdf', name: 'pdf' }]
  const out = withList([], [told('bad', { places })], { log: LOG, below: HUB })
  const own = snapshot(OWN, at('pdf', 'mine'), at('copy/pdf', 'bad'), at('team/pdf', 'mine too'))

  expect(pathsOut(snapshot(HUB, at('team/pdf', 'older')), out)).toEqual(['team/pdf'])
  expect(pathsOut(own, out)).toEqual(['copy/pdf'])

  // The author of the copy renames nothing that the follower did not see: the name alone stays free.
  const followed = followEntries(out, [own])
  expect(pathsOut(snapshot(OWN, at('pdf', 'mine'), at('copy/pdf', 'edited')), followed.out)).toEqual(['copy/pdf'])
  expect(pathsOut(snapshot(OWN, at('pdf', 'mine'), at('new/pdf', 'edited')), followed.out)).toEqual([])
})

test('a recall ends only by its end in a log that had it in force, and not because a list lacks it', () => {
  const source = { log: LOG, below: HUB }
  const other = { log: 'other.example/channel', below: OWN }
  const one = told('bad')
  const both = withList(withList(NOTHING_OUT, [one], source), [one], other)

  const lacked = withList(both, [], source)
  const ended = withList(both, [told('bad', { revoked: AT })], source)
  const over = withList(ended, [told('bad', { revoked: AT })], other)

  expect(lacked).toMatchObject([{ via: [LOG, other.log] }])
  expect(ended).toMatchObject([{ via: [other.log] }])
  expect(ended[0]).not.toHaveProperty('ended')
  expect(over).toMatchObject([{ via: [], ended: AT }])
})

test('no other hub can end a recall that was made here, or give it another reason', () => {
  const own = newRecall([digestOf('bad')], 'mine', PERSON)
  const recalls = [own]

  const after = withList(recalls, [told('bad', { reason: 'theirs', revoked: AT })], { log: LOG, below: HUB })

  expect(after).toEqual(recalls)
})

test('the readers of a channel that may not see a skill get its digests, and neither its place nor the reason', () => {
  const bad = snapshot(TEAM, at('pdf', 'bad'))
  const recall = recallIn(newRecall([digestOf('bad')], 'bad in team/pdf', PERSON), [bad])
  const recalls = [recall]

  const [all] = publishedRecalls(recalls, LOG)
  const [some] = publishedRecalls(recalls, LOG, () => false)

  expect(all).toMatchObject({ reason: 'bad in team/pdf', places: [{ source: TEAM, path: 'pdf' }] })
  expect(some).toEqual({ id: recall.id, at: AT, contents: recall.on.contents, by: LOG, places: [] })
  expect(recallIdOf(some!)).toBe(recall.id)
})

test('a skill that is disabled and recalled stays known as both: either can end', () => {
  const before = snapshot(TEAM, at('pdf', 'bad'))
  const recall = recallIn(newRecall([digestOf('bad')], 'bad', PERSON), [before])
  const disabled = disableRule(recall.on.places)
  const { out } = followEntries([disabled, recall], [snapshot(TEAM, at('moved/pdf', 'changed'))])

  const after = withRevoked(out, recall.id, AT)

  expect(disabledIn(before, out).get('pdf')?.rule).toMatchObject({ id: recall.id })
  expect(pathsOut(snapshot(TEAM, at('moved/other', 'changed')), after)).toEqual(['moved/other'])
})

test('the SKILL.md of a recalled skill is in no docs folder, and in no other skill', () => {
  const bad = at('pdf', 'bad')
  const [file] = bad.files
  const holder = { ...at('good', 'text'), files: [...at('good', 'text').files, { ...file!, path: 'copy.md' }] }
  const docs = { digest: '0'.repeat(64), files: [{ ...file!, path: 'docs/a.md' }] }
  const out = outOf(newRecall([file!.sha256], 'bad', PERSON))

  expect(pathsOut(snapshot(TEAM, holder), out)).toEqual(['good'])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const shown = withoutDisabledDocs({ ...snapshot(TEAM), docs } as unknown as Snapshot, out)
  expect(shown.docs?.files).toEqual([])
})

test('the oldest recall that ended makes room, and one in force never', () => {
  let recalls: OutOfService = NOTHING_OUT
  for (let index = 0; index < MOST_RECALLS; index += 1) {
    const recall = newRecall([digestOf(`bad ${index}`)], 'bad', PERSON)
    recalls = withRecall(recalls, index === 7 ? { ...recall, ended: AT } : recall) ?? recalls
  }
  const next = newRecall([digestOf('next')], 'bad', PERSON)
  const after = withRecall(recalls, next)

  expect(after).toHaveLength(MOST_RECALLS)
  expect(idsIn(after)).not.toContain(newRecall([digestOf('bad 7')], 'bad', PERSON).id)
  expect(withRecall(after ?? NOTHING_OUT, newRecall([digestOf('more')], 'bad', PERSON))).toBeUndefined()
})

test('a hub with as many recalls as it may have keeps neither this hub nor another one from recalling', () => {
  const flood = Array.from({ length: MOST_RECALLS }, (_, index) => told(`flood ${index}`))
  const flooded = withList(NOTHING_OUT, flood, { log: LOG, below: HUB })
  const own = newRecall([digestOf('bad')], 'bad', PERSON)

  const after = withRecall(flooded, own)
  const both = withList(after ?? NOTHING_OUT, [told('worse')], { log: 'other.example/channel', below: TEAM })

  expect(idsIn(after)).toContain(own.id)
  expect(both).toHaveLength(MOST_RECALLS + 2)
  expect(() => withList(both, [told('one more')], { log: LOG, below: HUB })).toThrow(/over 1024 of its recalls/)
  const published = publishedRecalls(both, 'mine.example/channel')
  expect(published).toHaveLength(MOST_RECALLS)
  expect(published.map(({ id }) => id)).toContain(own.id)
})

test('a hub that lies about the recalls of another one keeps them neither from followers nor from their places', () => {
  const [good, liar] = [
    { log: LOG, below: HUB },
    { log: 'liar.example/channel', below: OWN },
  ]
  const place = { source: TEAM, path: 'pdf', servedPath: 'pdf', name: 'pdf' }
  const real = told('bad', { places: [place], reason: 'it deletes files' })
  const flood = Array.from({ length: MOST_RECALLS - 1 }, (_, index) =>
    told(`flood ${index}`, {}, '1970-01-01T00:00:00.000Z'),
  )
  const lies = Array.from({ length: 20 }, (_, list) =>
    told('bad', {
      by: LOG,
      reason: 'a mistake',
      places: Array.from({ length: 16 }, (__, at) => ({ source: TEAM, path: `lie-${list}-${at}` })),
    }),
  )
  const heard = (before: OutOfService): OutOfService =>
    lies.reduce((known, lie) => withList(known, [lie, ...flood], liar), before)

  for (const recalls of [
    withList(heard(NOTHING_OUT), [real], good),
    heard(withList(NOTHING_OUT, [real], good)),
    heard(withList(heard(NOTHING_OUT), [real], good)),
  ]) {
    expect(pathsOut(snapshot(HUB, at('team/pdf', 'older')), recalls)).toEqual(['team/pdf'])
    expect(publishedRecalls(recalls, 'mine.example/channel').map(({ id }) => id)).toContain(real.id)
    // A place that is found here later is remembered as well.
    const found = followEntries(recalls, [snapshot(TEAM, at('x/pdf', 'bad'))])
    expect(found.full).toBeUndefined()
    expect(pathsOut(snapshot(TEAM, at('x/pdf', 'edited')), found.out)).toEqual(['x/pdf'])
  }
})

test('the reason of a recall is that of the hub that says to have made it', () => {
  const real = told('bad', { reason: 'it deletes files' })
  const lie = told('bad', { by: LOG, reason: 'a mistake' })
  const [good, liar] = [
    { log: LOG, below: HUB },
    { log: 'liar.example/channel', below: OWN },
  ]
  const first = withList(withList(NOTHING_OUT, [lie], liar), [real], good)
  const last = withList(withList(NOTHING_OUT, [real], good), [lie], liar)
  const changed = withList(last, [{ ...lie, by: liar.log }], liar)

  for (const recalls of [first, last, changed])
    expect(recalls).toMatchObject([{ id: real.id, who: LOG, reason: 'it deletes files' }])
})

function told(text: string, edit: Partial<PublishedRecall> = {}, made = AT): PublishedRecall {
  const contents = [digestOf(text)]
  return { id: recallIdOf({ at: made, contents }), at: made, contents, reason: 'bad', places: [], ...edit }
}

function outOf(recall: RecallRule): OutOfService {
  return [recall]
}

function idsIn(out: OutOfService = []): readonly string[] {
  return recallsIn(out).map(({ id }) => id)
}

function pathsOut(one: Snapshot, out: OutOfService): readonly string[] {
  return [...disabledIn(one, out).keys()].toSorted()
}

/** The digest of the skill with this text, by any path. */
function digestOf(text: string): string {
  return at('pdf', text).files[0]?.sha256 ?? ''
}

function at(path: string, text: string): Skill {
  const { skill } = sample(path.slice(path.lastIndexOf('/') + 1), { 'SKILL.md': text })
  return { ...skill, path, servedPath: path }
}

function snapshot(source: SourceId, ...skills: readonly Skill[]): Snapshot {
  return { ...snapshotOf(), source, skills }
}
