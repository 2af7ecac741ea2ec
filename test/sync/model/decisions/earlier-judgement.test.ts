import { expect, test } from 'vitest'
import { lockEntryOf, isLocked, setDigestOf } from '../../../../src/sync/model/decisions/lock.ts'
import { sourceWith } from '../../pull/pulled.ts'
import { surveyed } from '../../survey/surveyed.ts'

test('a lock holds with the digest of all skills or of those that were offered before, and with no other', async () => {
  const snapshot = await surveyed({ 'pdf/SKILL.md': document('first'), 'pdf-2/SKILL.md': document('second') })
  const source = sourceWith({ url: snapshot.url })
  const entry = lockEntryOf(source, snapshot)
  const [before, neither] = ['pdf', 'pdf-2'].map((path) =>
    setDigestOf(new Map([...entry.skills].filter(([at]) => at === path))),
  )

  const holds = (digest: string): boolean => isLocked({ ...entry, digest }, snapshot)

  expect([...entry.skills.keys()]).toEqual(['pdf', 'pdf-2'])
  expect([entry.digest, before!].map(holds)).toEqual([true, true])
  expect([neither!, '0'.repeat(64)].map(holds)).toEqual([false, false])
})

function document(body: string): string {
  return `---\nname: pdf\ndescription: Reads\n---\n${body}\n`
}
