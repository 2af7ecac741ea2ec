import { expect, test } from 'vitest'
import type { SourceDecision } from '../../../src/sync/model/decisions/decisions.ts'
import { isObjectId, type AskedRef, type ObjectId, type Revision } from '../../../src/sync/model/revision.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { GitSource, Source } from '../../../src/sync/model/source.ts'
import { followedIn } from '../../../src/sync/pull/followed-ref.ts'
import { holdOnMove } from '../../../src/sync/pull/move-policy.ts'
import { massDeletion } from '../../../src/sync/pull/snapshot-policy.ts'
import type { Relation } from '../../../src/sync/upstream/upstream.ts'
import { sourceId } from '../store/samples.ts'

const AT = '2026-06-15T10:00:00.000Z'

const [A, B] = [id('a'), id('b')]

function source(ref: AskedRef, more: Partial<GitSource> = {}): GitSource {
  return {
    kind: 'git',
    backend: 'auto',
    id: sourceId('team'),
    url: 'https://git.example.com/team.git',
    ref,
    update: 'auto',
    brakes: 'hold',
    schedule: { kind: 'every', periodMs: 1 },
    root: '',
    include: ['**'],
    exclude: [],
    unlisted: [],
    names: 'remap',
    nested: 'as-skills',
    onBroken: 'withhold',
    lfs: 'withhold',
    hiddenUnicode: 'note',
    contract: false,
    docs: undefined,
    marketplace: false,
    ...more,
  }
}

function at(ref: string, commit: ObjectId, asked?: AskedRef, tag?: ObjectId): Revision {
  return { asked, ref, commit, ...(tag !== undefined && { tag }) }
}

async function codeOf(
  of: GitSource,
  held: Revision | undefined,
  found: Revision,
  { decision = {}, relation = 'unknown' }: { decision?: SourceDecision; relation?: Relation } = {},
): Promise<string | undefined> {
  return (await holdOnMove({ source: of, served: held, followed: held, found, decision }, async () => relation))?.code
}

const MAIN = 'refs/heads/main'

test('a branch that moved, and whatever comes first, is followed', async () => {
  expect(await codeOf(source('main'), at(MAIN, A, 'main'), at(MAIN, B, 'main'))).toBeUndefined()
  expect(await codeOf(source('v1'), undefined, at('refs/tags/v1', A, 'v1'))).toBeUndefined()
})

test('a tag that moved is held, unless it is followed, approved, or another ref was asked for', async () => {
  const held = at('refs/tags/v1', A, 'v1')
  const found = at('refs/tags/v1', B, 'v1')
  const follows = source('v1', { brakes: 'follow' })

  expect(await codeOf(source('v1'), held, found)).toBe('tag-moved')
  expect(await codeOf(source('v1'), held, { ...held, tag: B })).toBe('tag-moved')
  expect(await codeOf(follows, held, found)).toBeUndefined()
  expect(await codeOf(source('v1'), held, found, { decision: { approved: { commit: B } } })).toBeUndefined()
  expect(await codeOf(source('v1'), held, found, { decision: { approved: { commit: A } } })).toBe('tag-moved')
  expect(await codeOf(source('v2'), held, at('refs/tags/v2', B, 'v2'))).toBeUndefined()
})

test('a default branch of another name is followed where it leads on, and held where not or not known', async () => {
  const [held, found] = [at(MAIN, A), at('refs/heads/next', B)]

  expect(await codeOf(source(undefined), held, found, { relation: 'descends' })).toBeUndefined()
  expect(await codeOf(source(undefined), held, found, { relation: 'rewritten' })).toBe('default-branch-moved')
  expect(await codeOf(source(undefined), held, found, { relation: 'unknown' })).toBe('default-branch-moved')
  expect(await codeOf(source(undefined), held, at('refs/heads/next', A))).toBeUndefined()
  expect(await codeOf(source(undefined), at(A, A), found)).toBeUndefined()
})

test('with update: review a move waits, by the name of what it is', async () => {
  const review = source('main', { update: 'review' })
  const [held, found] = [at(MAIN, A, 'main'), at(MAIN, B, 'main')]

  expect(await codeOf(review, held, found, { relation: 'descends' })).toBe('awaiting-approval')
  expect(await codeOf(review, held, found, { relation: 'unknown' })).toBe('awaiting-approval')
  expect(await codeOf(review, held, found, { relation: 'rewritten' })).toBe('history-rewritten')
  expect(await codeOf(review, held, found, { decision: { approved: { commit: B } } })).toBeUndefined()
})

test('with update: review the first commit waits too, and one that is served already does not wait for its new address', async () => {
  const review = source('main', { update: 'review' })
  const found = at(MAIN, A, 'main')
  const first = async (served?: Revision, decision: SourceDecision = {}): Promise<string | undefined> => {
    const hold = await holdOnMove(
      { source: review, served, followed: undefined, found, decision },
      async () => 'unknown',
    )
    return hold?.code
  }

  expect(await first()).toBe('awaiting-approval')
  expect(await first(at(MAIN, B, 'main'))).toBe('awaiting-approval')
  expect(await first(found)).toBeUndefined()
  expect(await first(undefined, { approved: { commit: A } })).toBeUndefined()
  expect(await first(undefined, { hold: { commit: A, at: AT } })).toBeUndefined()
})

test('what a person decided outranks where the ref went', async () => {
  const [held, found] = [at(MAIN, A, 'main'), at(MAIN, B, 'main')]
  const decided = (decision: SourceDecision): Promise<string | undefined> =>
    codeOf(source('main'), held, found, { decision })

  expect(await decided({ hold: { commit: A, at: AT } })).toBe('held')
  expect(await decided({ hold: { commit: A, at: AT }, approved: { commit: B } })).toBe('held')
  expect(await decided({ skipped: { commit: B, by: 'rollback' } })).toBe('rolled-back')
  expect(await decided({ skipped: { commit: B, by: 'reject' } })).toBe('rejected')
  expect(await decided({ skipped: { commit: A, by: 'reject' } })).toBeUndefined()
})

test.each([
  { before: 1, after: 0, held: true },
  { before: 0, after: 0, held: false },
  { before: 11, after: 5, held: true },
  { before: 10, after: 5, held: false },
  { before: 9, after: 4, held: false },
  { before: 12, after: 6, held: false },
  { before: 200, after: 1, held: true },
  { before: 200, after: 100, held: false },
])('of $before skills $after are left: held is $held', ({ before, after, held }) => {
  const hold = massDeletion(source('main'), followedIn(snapshot(A, before)), snapshot(B, after))

  expect(hold?.code).toBe(held ? 'mass-deletion' : undefined)
})

test('fewer skills of the same commit, of the first one, or where it is followed are no mass deletion', () => {
  const follows = source('main', { brakes: 'follow' })

  expect(massDeletion(source('main'), followedIn(snapshot(A, 20)), snapshot(A, 0))).toBeUndefined()
  expect(massDeletion(source('main'), undefined, snapshot(B, 0))).toBeUndefined()
  expect(massDeletion(follows, followedIn(snapshot(A, 20)), snapshot(B, 0))).toBeUndefined()
})

test('of a folder most may go at once, and the last one waits: a disk that is not mounted looks like that', () => {
  const folder: Source = { ...source(undefined), kind: 'directory', path: '/srv/skills', links: 'inside' }

  expect(massDeletion(folder, followedIn(snapshot(A, 20)), snapshot(B, 1))).toBeUndefined()
  expect(massDeletion(folder, followedIn(snapshot(A, 2)), snapshot(B, 0))?.code).toBe('mass-deletion')
})

test('where an ignore file is the cause that no skill is left, the hold names its line', () => {
  const folder: Source = { ...source(undefined), kind: 'directory', path: '/srv/skills', links: 'inside' }
  const message = 'The skill is not served: its SKILL.md is ignored by line 1 of ".gitignore" ("pdf/")'
  const ignored = { ...snapshot(B, 0), findings: [{ rule: 'skill-ignored' as const, path: 'pdf/SKILL.md', message }] }

  const hold = massDeletion(folder, followedIn(snapshot(A, 1)), ignored)

  expect(hold?.message).toMatch(/has 0; "pdf\/SKILL\.md": The skill is not served: its SKILL\.md is ignored by line 1/)
})

test('a mass deletion names the served skills that it takes, and counts those that are in no list', () => {
  const [some, none] = [snapshot(A, 3), snapshot(B, 0)]
  const served = {
    ...some,
    skills: some.skills.flatMap((skill): Skill[] => [
      { ...skill, digest: skill.path, ...(skill.path === 's1' && { isUnlisted: true as const }) },
    ]),
  }

  const hold = massDeletion(source('main'), followedIn(served), none, served)

  expect(hold?.message).toMatch(/ has 0: removed s0, s2 and 1 more$/)
})

function snapshot(commit: ObjectId, count: number): Snapshot {
  const skills = Array.from({ length: count }, (_, index) => ({
    path: `s${index}`,
    servedPath: `s${index}`,
    standing: 'served' as const,
    name: `s${index}`,
    description: 'd',
    frontmatter: {},
    files: [],
    size: 0,
    digest: undefined,
    findings: [],
  }))
  return {
    source: sourceId('team'),
    url: 'https://git.example.com/team.git',
    revision: at(MAIN, commit),
    tree: commit,
    rules: '',
    skills,
    findings: [],
    folders: {},
    proof: { commit: '' },
  }
}

function id(digit: string): ObjectId {
  const text = digit.repeat(40)
  if (!isObjectId(text)) throw new Error(text)
  return text
}
