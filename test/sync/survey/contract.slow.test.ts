import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { Surveys, noted, rulesWith, skillAt, surveyed } from './surveyed.ts'

const CONTRACT = { contract: true } as const
const document = (id: string, block: object = {}, rest: object = {}): string =>
  documentOf(contractFrontmatter(id, block, rest))
const API = { references: { api: { path: 'references/api.md' } } }

function messagesAt(snapshot: Snapshot, path: string): string[] {
  return skillAt(snapshot, path).findings.map(({ rule, message }) => `${rule} ${message}`)
}

describe('a source that is held to the contract', () => {
  test('serves what keeps it, with what it says, and withholds the one skill that does not', async () => {
    const found = await surveyed(
      {
        'pdf/SKILL.md': document('pdf', API),
        'pdf/references/api.md': '# API',
        'xls/SKILL.md': document('xls', { version: 1 }),
        'none/SKILL.md': skillText('none'),
      },
      CONTRACT,
    )

    expect(skillAt(found, 'pdf')).toMatchObject({
      standing: 'served',
      findings: [],
      contract: { id: 'pdf', version: '1.0.0', references: [{ id: 'api', path: 'references/api.md' }] },
    })
    expect(skillAt(found, 'xls')).toMatchObject({ standing: 'withheld', servedPath: 'xls' })
    expect(skillAt(found, 'xls')).not.toHaveProperty('contract')
    expect(noted(skillAt(found, 'none').findings)).toEqual(['contract-violated none'])
    expect(messagesAt(found, 'xls')).toEqual([
      'contract-violated x-personal-mcp.version: it is a number and no text; write a semantic version of three numbers, such as "1.0.0"',
    ])
  })

  test('demands that name and folder agree, with names: remap too', async () => {
    const found = await surveyed({ 'g/folder/SKILL.md': document('pdf') }, CONTRACT)

    expect(skillAt(found, 'g/folder').standing).toBe('withheld')
    expect(messagesAt(found, 'g/folder')).toEqual([
      'contract-violated name: "pdf" is not the name of its folder, "folder"; rename one of the two',
    ])
  })

  test('asks nobody for the name of the repository, and the root for its own', async () => {
    const atTop = await surveyed({ 'SKILL.md': document('pdf') }, CONTRACT)
    const below = { 'skills/pdf/SKILL.md': document('pdf') }

    expect(skillAt(atTop, '').standing).toBe('served')
    expect(skillAt(await surveyed(below, { ...CONTRACT, root: 'skills/pdf' }), '').standing).toBe('served')
    const other = { 'skills/pdx/SKILL.md': document('pdf') }
    expect(skillAt(await surveyed(other, { ...CONTRACT, root: 'skills/pdx' }), '').standing).toBe('withheld')
  })

  test('withholds what it cannot read', async () => {
    const found = await surveyed({ 'pdf/SKILL.md': '---\nname: a: b\n---\n', 'xls/SKILL.md': '# none' }, CONTRACT)

    expect(skillAt(found, 'pdf').standing).toBe('withheld')
    expect(noted(skillAt(found, 'pdf').findings)).toEqual(['frontmatter-invalid pdf', 'contract-violated pdf'])
    expect(noted(skillAt(found, 'xls').findings)).toEqual(['frontmatter-missing xls', 'contract-violated xls'])
  })

  test('takes a link that stays in the skill for a file, and one that was refused for none', async () => {
    const inside = {
      'pdf/SKILL.md': document('pdf', API),
      'pdf/api.md': 'x',
      'pdf/references/api.md': { link: '../api.md' },
    }
    const outside = { ...inside, 'pdf/references/api.md': { link: '../../api.md' }, 'api.md': 'x' }

    expect(skillAt(await surveyed(inside, CONTRACT), 'pdf').standing).toBe('served')
    expect(noted(skillAt(await surveyed(outside, CONTRACT), 'pdf').findings)).toEqual([
      'link-refused pdf/references/api.md',
      'contract-violated pdf',
    ])
  })

  test('says nothing of files where those are refused for another reason', async () => {
    const files = {
      'pdf/SKILL.md': document('pdf', API),
      'pdf/references/api.md': 'x',
      'pdf/big.txt': 'x'.repeat(2000),
    }

    const found = await surveyed(files, { ...CONTRACT, limits: { skill: { files: 10, bytes: 1000 } } })

    expect(noted(skillAt(found, 'pdf').findings)).toEqual(['limit-bytes pdf'])
  })

  test('tells each fault of a skill, up to sixteen', async () => {
    const found = await surveyed(
      { 'pdf/SKILL.md': document('pdf', { depends_on: Array.from({ length: 40 }, () => 'A') }) },
      CONTRACT,
    )

    const messages = messagesAt(found, 'pdf')
    expect(messages).toHaveLength(17)
    expect(messages.at(-1)).toBe('contract-violated 24 more such findings are left out')
  })

  test('notes what it lets through, and serves it', async () => {
    const found = await surveyed({ 'pdf/SKILL.md': document('pdf', { tags: ['Bad Tag'] }) }, CONTRACT)

    expect(skillAt(found, 'pdf')).toMatchObject({ standing: 'served', contract: { tags: ['Bad Tag'] } })
    expect(messagesAt(found, 'pdf')).toEqual([
      'contract-noted x-personal-mcp.tags[0]: "Bad Tag" is not kebab-case; write it as in code-review',
    ])
  })
})

describe('any other source', () => {
  test('says nothing of a skill without the block, whatever the contract would say', async () => {
    const found = await surveyed({
      'pdf/SKILL.md': skillText('pdf', 'model: 5\n'),
      'claude/SKILL.md': skillText('claude'),
    })

    for (const skill of found.skills) expect(skill).toMatchObject({ standing: 'served', findings: [] })
  })

  test('serves one whose block is wrong, and notes what is wrong with the block', async () => {
    const found = await surveyed({ 'claude/SKILL.md': document('claude', { version: 1, id: 'pdf', tags: ['A'] }) })

    expect(skillAt(found, 'claude').standing).toBe('served')
    expect(skillAt(found, 'claude')).not.toHaveProperty('contract')
    expect(messagesAt(found, 'claude')).toEqual([
      'contract-noted x-personal-mcp.version: it is a number and no text; write a semantic version of three numbers, such as "1.0.0"',
      'contract-noted x-personal-mcp.id: "pdf" is not the name "claude"; make them the same',
      'contract-noted x-personal-mcp.capabilities: has no "resource://skills/pdf/document"; add it',
    ])
  })

  test('has no contract of one whose block is right, and says nothing of the fields beside it', async () => {
    const found = await surveyed({ 'pdf/SKILL.md': document('pdf', {}, { 'user-invocable': 'yes' }) })

    expect(skillAt(found, 'pdf')).toMatchObject({ standing: 'served', findings: [] })
    expect(skillAt(found, 'pdf')).not.toHaveProperty('contract')
  })
})

describe('a source that offers the contract', () => {
  const OFFER = { contract: 'offer' } as const

  test('has the contract of a skill with a valid block, with the notes', async () => {
    const found = await surveyed({ 'pdf/SKILL.md': document('pdf', { tags: ['A'] }) }, OFFER)

    expect(skillAt(found, 'pdf')).toMatchObject({ standing: 'served', contract: { id: 'pdf', isOffered: true } })
    expect(noted(skillAt(found, 'pdf').findings)).toEqual(['contract-noted pdf'])
  })

  test('withholds nothing, and notes the reason of a block that is not served', async () => {
    const found = await surveyed(
      { 'pdf/SKILL.md': document('pdf', { version: 1 }), 'g/folder/SKILL.md': document('xls') },
      { ...OFFER, onBroken: 'refuse' },
    )

    for (const skill of found.skills) {
      expect(skill.standing).toBe('served')
      expect(skill).not.toHaveProperty('contract')
    }
    expect(messagesAt(found, 'g/folder')).toEqual([
      'contract-noted x-personal-mcp: is not served at resource://, because the frontmatter breaks the contract',
      'contract-noted name: "xls" is not the name of its folder, "folder"; rename one of the two',
      expect.stringContaining('name-unlike-folder'),
    ])
    expect(messagesAt(found, 'pdf')).toHaveLength(2)
  })

  test('says nothing of a skill without the block, readable or not', async () => {
    const files = { 'pdf/SKILL.md': skillText('pdf', 'model: 5\n'), 'xls/SKILL.md': '# none' }

    expect((await surveyed(files, OFFER)).skills).toEqual((await surveyed(files)).skills)
  })
})

test.each([
  ['contract', CONTRACT],
  ['offer', { contract: 'offer' }],
  ['docs', { docs: 'docs' }],
] as const)('a source is looked at anew where %s was edited', async (_, edit) => {
  await using surveys = await Surveys.open()
  const files = { 'pdf/SKILL.md': skillText('pdf'), 'xls/SKILL.md': document('xls') }
  const before = await surveys.next(files, rulesWith())

  const after = await surveys.next(files, rulesWith(edit))

  expect(after.rules).not.toBe(before.rules)
  expect(after.skills).toEqual((await surveyed(files, edit)).skills)
})

test('a skill is judged again when a file comes that it declares', async () => {
  await using surveys = await Surveys.open()
  const without = { 'pdf/SKILL.md': document('pdf', API), 'xls/SKILL.md': document('xls') }
  const before = await surveys.next(without, rulesWith(CONTRACT))

  const after = await surveys.next({ ...without, 'pdf/references/api.md': '# API' }, rulesWith(CONTRACT))

  expect([skillAt(before, 'pdf').standing, skillAt(after, 'pdf').standing]).toEqual(['withheld', 'served'])
  expect(skillAt(after, 'xls')).toEqual(skillAt(before, 'xls'))
})

test('a survey that skips what it knows judges by the contract as one that knows nothing', async () => {
  const pool: readonly (readonly [string, Files[string]])[] = [
    ['pdf/SKILL.md', document('pdf', API)],
    ['pdf/SKILL.md', document('pdf')],
    ['pdf/references/api.md', '# API'],
    ['pdf/references/api.md', { link: '../api.md' }],
    ['pdf/references/api.md', { link: '../../g/api.md' }],
    ['pdf/api.md', 'x'],
    ['g/api.md', 'y'],
    ['g/pdf/SKILL.md', document('pdf', API)],
    ['g/pdf/references/api.md', '# API'],
    ['g/xls', { link: '../pdf' }],
    ['g/doc/SKILL.md', { link: '../../doc.md' }],
    ['doc.md', document('doc')],
  ]
  const commits = fc.array(
    fc.subarray([...pool]).map((files): Files => Object.fromEntries(files)),
    { minLength: 2, maxLength: 4 },
  )
  const asked = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 })

  await fc.assert(
    fc.asyncProperty(commits, asked, async (history, contracts) => {
      await using surveys = await Surveys.open()
      for (const [index, files] of history.entries()) {
        const edit = { contract: contracts[Math.floor(index / 2)] ?? true }

        const { skills } = await surveys.next(files, rulesWith(edit))

        expect(skills).toEqual((await surveyed(files, edit)).skills)
      }
    }),
    { numRuns: 150 },
  )
})
