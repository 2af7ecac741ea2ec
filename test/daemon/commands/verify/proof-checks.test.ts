import { expect, test } from 'vitest'
import { proofDiagnostics } from '../../../../src/daemon/commands/verify/proof-checks.ts'
import { isObjectId, type ObjectId } from '../../../../src/sync/model/revision.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { objectIdOf } from '../../../../src/sync/upstream/objects/git-object.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const TREE = id('a'.repeat(40))
const COMMIT = Buffer.from(`tree ${TREE}\nauthor A <a@example.com> 1 +0000\n\nm\n`)
const TAG = Buffer.from(`object ${objectIdOf({ type: 'commit', bytes: COMMIT }, 'sha1')}\ntype commit\ntag v1\n\nm\n`)

const codesOf = (snapshot: Snapshot): string[] => [...proofDiagnostics(snapshot)].map(({ check }) => check)

test('a commit and a tag object that are what their ids say hold', () => {
  expect(codesOf(snapshot({}))).toEqual([])
  expect(codesOf(snapshot({ tag: TAG }))).toEqual([])
})

test('one byte of the commit or the tag object more, another tree, or no tag object is told', () => {
  const more = Buffer.concat([COMMIT, Buffer.from('\n')])

  expect(codesOf(snapshot({ kept: more }))).toEqual(['proof-damaged'])
  expect(codesOf({ ...snapshot({}), tree: id('b'.repeat(40)) })).toEqual(['proof-damaged'])
  expect(codesOf(snapshot({ tag: TAG, keptTag: COMMIT }))).toEqual(['proof-damaged'])
  expect(codesOf({ ...snapshot({ tag: TAG }), proof: snapshot({}).proof })).toEqual(['proof-missing'])
})

test('that there is no commit object of what was had from a fallback is a note', () => {
  const rebuilt = { ...snapshot({ tag: TAG }), proof: { commit: '' }, rebuiltFrom: sourceId('hub') }

  expect(codesOf(rebuilt)).toEqual(['proof-missing'])
})

function snapshot({ kept = COMMIT, tag, keptTag = tag }: { kept?: Buffer; tag?: Buffer; keptTag?: Buffer }): Snapshot {
  const commit = objectIdOf({ type: 'commit', bytes: COMMIT }, 'sha1')
  const tagId = tag && objectIdOf({ type: 'tag', bytes: tag }, 'sha1')
  return {
    source: sourceId('team'),
    url: 'https://git.example.com/team.git',
    revision: { asked: 'v1', ref: 'refs/tags/v1', commit, ...(tagId !== undefined && { tag: tagId }) },
    tree: TREE,
    rules: '',
    skills: [],
    findings: [],
    folders: {},
    proof: {
      commit: kept.toString('base64'),
      ...(keptTag !== undefined && { tag: keptTag.toString('base64') }),
    },
  }
}

function id(text: string): ObjectId {
  if (!isObjectId(text)) throw new Error(text)
  return text
}
