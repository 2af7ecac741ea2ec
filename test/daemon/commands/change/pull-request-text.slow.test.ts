import { expect, test } from 'vitest'
import { MOST_BODY_CHARACTERS, pullRequestText } from '../../../../src/daemon/commands/change/pull-request-text.ts'
import type { ReviewedMove } from '../../../../src/daemon/commands/change/pull-request-text.ts'
import type { SkillReview } from '../../../../src/sync/model/changes/skill-review.ts'
import type { Revision } from '../../../../src/sync/model/revision.ts'
import { objectId } from '../../../sync/upstream/reached.ts'

const REVISION: Revision = { asked: undefined, ref: 'refs/heads/main', commit: objectId('1'.repeat(40)) }

test('a review of nothing says that nothing moved', () => {
  const still = moved([], { to: REVISION })

  expect(pullRequestText({ sources: [still], packs: [] })).toBe('No source moved.\n')
})

test('what a reviewer needs first stands first, and again at its skill', () => {
  const note = { isCritical: true, text: 'new program', values: ['scripts/run.sh'] }
  const text = pullRequestText({ sources: [moved([skill('a', { notes: [note] })])], packs: [] })

  expect(text).toContain('### Review first\n\n- `team/a`: new program `scripts/run.sh`\n')
  expect(text).toContain('#### `team/a`: changed\n\n- new program `scripts/run.sh`\n')
})

test('signers of a source that changed are named first, and those of a new source are not', () => {
  const signers = { before: ['commit by a (ssh 1)'], after: ['commit by b (ssh 2)'] }
  const [other, fresh] = [moved([], { signers }), moved([], { signers, from: undefined })]

  expect(pullRequestText({ sources: [other], packs: [] })).toContain(
    '### Review first\n\n- `team`: its signers changed\n',
  )
  expect(pullRequestText({ sources: [fresh], packs: [] })).not.toContain('### Review first')
})

test('the first facts of each skill stand before further ones of others', () => {
  const noteOf = (text: string) => ({ isCritical: true, text, values: ['x'] })
  const many = Array.from({ length: 40 }, (_, number) => noteOf(`note ${number} `))
  const skills = [skill('a', { notes: many }), skill('b', { notes: [noteOf('hooks')] })]

  const text = pullRequestText({ sources: [moved(skills)], packs: [] })

  expect(text).toContain('- `team/a`: note 0  `x`\n- `team/b`: hooks `x`\n- `team/a`: note 1  `x`\n')
  expect(text).toContain('- and 11 more, at their skills')
})

test('a source that failed and a pack that grows are named', () => {
  const failed: ReviewedMove = { source: 'old', failure: { code: 'source-unreachable', message: 'no <b>host</b>' } }
  const pack = { pack: 'crew', added: ['team/b'], removed: [], lacks: ['lacks "c"'] }

  const text = pullRequestText({ sources: [failed], packs: [pack] })

  expect(text).toContain('No source moved. 1 source could not be updated.')
  expect(text).toContain('Not updated: `source-unreachable` `no <b>host</b>`')
  expect(text).toContain('### Pack `crew`\n\n- its clients get: `team/b`\n- note: `lacks "c"`')
})

test('comparisons are left out before skills, and the text has at most the characters of GitHub', () => {
  const lines = Array.from({ length: 100 }, (_, line) => `+${'x'.repeat(90)} ${line}`)
  const few = Array.from({ length: 30 }, (_, number) => skill(`${number}`, { files: [file(lines)] }))
  const many = Array.from({ length: 5_000 }, (_, number) =>
    skill(`${'y'.repeat(80)}/${number}`, { files: [file(lines)] }),
  )

  const [some, most] = [few, many].map((skills) => pullRequestText({ sources: [moved(skills)], packs: [] }))

  expect(some!.length).toBeLessThanOrEqual(MOST_BODY_CHARACTERS)
  expect(some).toContain('#### `team/29`: changed')
  expect(some).toContain('**Cut:** 24 comparisons left out: no room.')
  expect(most!.length).toBeLessThanOrEqual(MOST_BODY_CHARACTERS)
  expect(most).toMatch(/\*\*Cut:\*\* \d+ comparisons left out: no room; \d+ sections left out: no room\./)
})

test('the docs folder is shown as skills are, and a file without lines is named with its size and digest', () => {
  const notes = [{ isCritical: true, text: 'hidden characters', values: ['usage.md', 'U+200B'] }]
  const docs = { change: 'changed', notes, files: [{ ...file(['-first', '+second']), path: 'usage.md' }] } as const
  const why = { ...file([]), path: 'go', isProgram: true, diff: { why: 'it is a program and no text' } }

  const text = pullRequestText({ sources: [moved([skill('a', { files: [why] })], { docs })], packs: [] })

  expect(text).toContain('### Review first\n\n- `team: the docs folder`: hidden characters `usage.md`, `U+200B`\n')
  expect(text).toContain('#### The docs folder of `team`: changed\n\n- hidden characters')
  expect(text).toContain('`usage.md`\n\n```diff\n@@ -1 +1 @@\n-first\n+second\n```')
  expect(text).toContain(
    `#### \`team/a\`: changed\n\n- program \`go\` is not shown: \`it is a program and no text\`; 1 bytes, sha256 ${'0'.repeat(64)}\n`,
  )
})

type Moved = Exclude<ReviewedMove, { readonly failure: unknown }>

function moved(skills: readonly SkillReview[], edit: Partial<Moved> = {}): ReviewedMove {
  const to = { ...REVISION, commit: objectId('2'.repeat(40)) }
  const signers = { before: [], after: [] }
  const url = 'https://git.example.com/team.git'
  const counts = { before: 1, after: 1 }
  return { source: 'team', url, from: REVISION, to, ...counts, signers, docs: undefined, budget: [], skills, ...edit }
}

function skill(path: string, edit: Partial<SkillReview>): SkillReview {
  return { path, name: path, change: 'changed', notes: [], files: [], ...edit }
}

function file(lines: readonly string[]): SkillReview['files'][number] {
  const same = { path: 'SKILL.md', change: 'changed', isProgram: false, size: 1, sha256: '0'.repeat(64) } as const
  return { ...same, diff: { hunks: [{ from: 1, to: 1, lines }] } }
}
