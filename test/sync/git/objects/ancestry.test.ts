import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { relationIn } from '../../../../src/sync/git/objects/ancestry.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import { parentsOf } from '../../../../src/sync/upstream/objects/git-object.ts'
import { Repository } from '../../../support/git/repository.ts'
import { objectId } from '../../upstream/reached.ts'

const IDS = Array.from({ length: 12 }, (_, index) => objectId(createHash('sha1').update(String(index)).digest('hex')))

/** Any history of twelve commits: each has its parents among those before it. Bit by bit, which those are. */
const histories = fc
  .array(fc.nat(2 ** IDS.length - 1), { minLength: IDS.length, maxLength: IDS.length })
  .map(
    (bits) => new Map(bits.map((mask, index) => [IDS[index]!, IDS.filter((_, at) => at < index && (mask >> at) & 1)])),
  )

test('with all commits known, the relation is what a search from parent to parent finds', () => {
  const law = fc.property(histories, fc.constantFrom(...IDS), fc.constantFrom(...IDS), (history, from, to) => {
    expect(relationIn(history, from, to)).toBe(descends(history, from, to) ? 'descends' : 'rewritten')
  })

  fc.assert(law, { numRuns: 1000 })
})

test('with any of the commits unknown, the relation is the true one or unknown', () => {
  const ids = fc.constantFrom(...IDS)
  const told = { descends: 0, rewritten: 0, unknown: 0 }
  const law = fc.property(histories, fc.subarray(IDS), ids, ids, (history, unread, from, to) => {
    const parents = new Map([...history].filter(([id]) => !unread.includes(id)))

    const relation = relationIn(parents, from, to)

    told[relation] += 1
    expect(['unknown', descends(history, from, to) ? 'descends' : 'rewritten']).toContain(relation)
  })

  fc.assert(law, { numRuns: 2000 })
  expect(Math.min(...Object.values(told))).toBeGreaterThan(20)
})

test.each(['sha1', 'sha256'] as const)(
  'the parents of a commit are those that git names, in order (%s)',
  async (objectFormat) => {
    await using repository = await Repository.create({ objectFormat })
    const first = await repository.commit({ a: '1' }, { message: `parent ${'a'.repeat(40)}\n` })
    const second = await repository.commit({ a: '2' })
    const flags = [second, first].flatMap((id) => ['-p', id])
    const merged = await repository.git('commit-tree', ...flags, '-m', `parent ${first}`, `${first}^{tree}`)
    const parents = async (id: string) => parentsOf(Buffer.from(`${await repository.git('cat-file', 'commit', id)}\n`))

    expect(await parents(first)).toEqual([])
    expect(await parents(second)).toEqual([first])
    expect(await parents(merged)).toEqual([second, first])
  },
)

test('bytes that are no commit have no parents', () => {
  const law = fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => parentsOf(bytes).length === 0)

  expect(fc.check(law).failed).toBe(false)
  expect(parentsOf(Buffer.from('tree x\nparent 12\n'))).toEqual([])
})

function descends(history: ReadonlyMap<ObjectId, readonly ObjectId[]>, from: ObjectId, to: ObjectId): boolean {
  return from === to || history.get(to)!.some((parent) => descends(history, from, parent))
}
