import { expect, test } from 'vitest'
import { resultsOf } from '../../../src/daemon/commands/doctor/status-checks.ts'
import { stateCell } from '../../../src/daemon/commands/show/list.ts'
import { blockOf } from '../../../src/daemon/commands/show/status-block.ts'
import { skillLinesOf } from '../../../src/daemon/commands/show/status-table.ts'
import type { ConfiguredSource } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import type { ServedConfig } from '../../../src/daemon/pull/trust/serving-policy.ts'
import { sourceItem } from '../../../src/daemon/status/items.ts'
import { catalogFamilies } from '../../../src/daemon/status/metrics/metrics.ts'
import { pathProblemsOf } from '../../../src/daemon/status/page/page-diagnostics.ts'
import { statusOf } from '../../../src/daemon/status/status.ts'
import type { SourceStatus } from '../../../src/daemon/status/status.ts'
import { verdictLines } from '../../../src/daemon/status/verdict-lines.ts'
import { verdictsIn } from '../../../src/daemon/status/verdicts.ts'
import { explainedCodes } from '../../../src/features/author/explain/code-list.ts'
import type { PageView } from '../../../src/serve/page/page-view.ts'
import { problemsView } from '../../../src/serve/page/problems-view.ts'
import { buildCatalog } from '../../../src/sync/catalog/catalog.ts'
import { declarationOf } from '../../../src/sync/model/decisions/approvals.ts'
import { newRecall } from '../../../src/sync/model/decisions/recalled-skills.ts'
import type { AdmitRule, RecallRule } from '../../../src/sync/model/decisions/rules.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { decidedIn } from '../../../src/sync/model/verdict/skill-states.ts'
import type { SkillDecisions } from '../../../src/sync/model/verdict/skill-states.ts'
import { isNoSkill, stateText, tallyText, VERDICT_STATES, WAYS } from '../../../src/sync/model/verdict/verdict.ts'
import type { VerdictState } from '../../../src/sync/model/verdict/verdict.ts'
import type { SkillCode } from '../../../src/sync/skill/skill-diagnostic.ts'
import { NO_SCANS } from '../../../src/sync/store/scan-records.ts'
import { recordAt } from '../../../src/sync/store/source-records.ts'
import { disableRule, scanRule } from '../../support/decided.ts'
import { numbered, snapshotOf, sourceId } from '../../sync/store/samples.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')
const TEAM = sourceId('team')

/** A skill of the source, with what a survey found in it, and the state that everybody should read. */
interface Case {
  readonly is: VerdictState
  readonly ways?: string
  /** The code of the reason that decides; none for a skill without any. */
  readonly code?: string
  readonly fix?: string | RegExp
  readonly skill?: Partial<Skill>
  readonly finds?: readonly SkillCode[]
  readonly decided?: 'disabled' | 'recalled' | 'scanned' | 'waiting'
}

const EVERY = 'listed tools folder marketplace channel'
const CASES: Readonly<Record<string, Case>> = {
  plain: { is: 'served', ways: EVERY },
  noted: { is: 'served', ways: EVERY, code: 'yaml-comment', fix: 'quote the text', finds: ['yaml-comment'] },
  kept: { is: 'served', ways: EVERY, code: 'kept-version', finds: ['kept-version'] },
  clash: {
    is: 'partly',
    ways: 'tools folder marketplace channel',
    code: 'name-clash',
    skill: { standing: 'tools', servedPath: undefined },
    finds: ['yaml-comment', 'name-clash'],
  },
  Nameless: {
    is: 'partly',
    ways: 'tools channel',
    code: 'name-invalid',
    skill: { standing: 'tools', servedPath: undefined },
    finds: ['name-invalid'],
  },
  padded: {
    is: 'partly',
    ways: 'tools folder marketplace channel',
    code: 'metadata-not-text',
    finds: ['look-alike-letters', 'metadata-not-text'],
  },
  unquoted: {
    is: 'partly',
    ways: 'tools folder channel',
    code: 'frontmatter-unquoted',
    finds: ['frontmatter-unquoted'],
  },
  hidden: {
    is: 'partly',
    ways: 'channel',
    code: 'skill-unlisted',
    fix: /`unlisted`/,
    skill: { standing: 'unlisted' },
    finds: ['yaml-comment'],
  },
  broken: {
    is: 'withheld',
    code: 'description-missing',
    skill: withheld(),
    finds: ['lfs-left-out', 'description-missing'],
  },
  other: {
    is: 'withheld',
    code: 'content-mismatch',
    fix: 'skillsyncd mcp-source mirror team/other reads its files again',
    skill: withheld(),
    finds: ['name-unlike-folder', 'content-mismatch'],
  },
  unread: { is: 'waiting', code: 'awaiting-approval', fix: 'skillsyncd approve team/unread', decided: 'waiting' },
  off: { is: 'disabled', code: 'disabled', fix: 'skillsyncd enable team/off', decided: 'disabled' },
  called: {
    is: 'disabled',
    code: 'skill-recalled',
    fix: /^skillsyncd enable [\da-f]{64} ends it at all followers$/,
    decided: 'recalled',
  },
  found: { is: 'disabled', code: 'skill-scanned', fix: 'skillsyncd enable team/found', decided: 'scanned' },
  'broken-off': {
    is: 'disabled',
    code: 'disabled',
    skill: withheld(),
    finds: ['description-missing'],
    decided: 'disabled',
  },
  'agent/plain': {
    is: 'withheld',
    code: 'stray-link',
    fix: 'Remove the link',
    skill: { ...withheld(), name: undefined },
    finds: ['link-refused'],
  },
}

const SNAPSHOT: Snapshot = { ...snapshotOf(), source: TEAM, skills: Object.entries(CASES).map(skillAt), findings: [] }
const DECISIONS = decisionsOf(CASES)
const CONFIG = configOf()
const CONFIGURED: ConfiguredSource = CONFIG.sources[0]!
const CATALOG = buildCatalog(
  { number: 7, createdAt: NOW.toISOString(), sources: [{ source: TEAM, snapshot: '0'.repeat(64) }] },
  [SNAPSHOT],
)
const verdictOf = verdictsIn(SNAPSHOT, decidedIn(SNAPSHOT, CONFIGURED.source, DECISIONS), {
  config: CONFIG,
  catalog: CATALOG,
})
const SOURCE = sourceOf(SNAPSHOT)

test('every state has a case', () => {
  expect(new Set(Object.values(CASES).map(({ is }) => is))).toEqual(new Set(VERDICT_STATES))
})

test('without its findings a status has the verdicts that a person decides or has decided, for metrics and service managers', () => {
  const paths = sourceOf(SNAPSHOT, true).verdicts.map(({ path }) => path)

  const isDecided = ({ is, code }: Case): boolean =>
    is === 'waiting' || is === 'disabled' || code === 'content-mismatch'
  const decided = Object.entries(CASES).flatMap(([path, one]) => (isDecided(one) ? [path] : []))
  expect(new Set(paths)).toEqual(new Set(decided))
})

test('skills that are unlisted on purpose hide none that is withheld', () => {
  const [unlisted, withheld] = ['hidden', 'broken'].map((path) => SOURCE.verdicts.find((told) => told.path === path)!)
  const sources = [
    { ...SOURCE, verdicts: Array.from({ length: 20 }, () => unlisted!) },
    { ...SOURCE, verdicts: [withheld!] },
  ]

  expect(skillLinesOf(sources)).toEqual(skillLinesOf(sources.slice(1)))
  expect(skillLinesOf(sources)).toHaveLength(2)
})

test.each(Object.entries(CASES))('%s has one state, one first reason and one fix at every surface', (path, one) => {
  const verdict = verdictOf(skillIn(path))
  const { state, ways, reasons } = verdict
  const [first] = reasons
  const word = stateText(one.is)
  const isWanted = one.code === 'skill-unlisted'
  const isShown = !isNoSkill(verdict) && !isWanted && (one.is !== 'served' || one.code === 'kept-version')
  const alone = { ...SOURCE, verdicts: SOURCE.verdicts.filter((told) => told.path === path) }

  expect({ state, code: first?.code, ways: WAYS.filter((way) => ways[way]).join(' ') }).toEqual({
    state: one.is,
    code: one.code,
    ways: one.ways ?? '',
  })
  expect(first?.fix ?? '').toMatch(one.fix ?? '')
  // `why` and `show`, and the column of `list`.
  const lines = verdictLines(verdict)
  expect(lines.filter((line) => line.includes(` ${first?.code} `))).toHaveLength(one.code === undefined ? 0 : 1)
  expect(lines.some((line) => line.startsWith('  ways '))).toBe(one.is === 'partly')
  expect(stateCell({ verdict })).toBe(word)
  // `status`: the block of a source, and the lines below the table.
  const told = blockOf(alone, { now: NOW, http: undefined, all: false })
  const shown = isShown
    ? [one.code === word ? `  - ${one.code} ` : `  - ${word} ${one.code} `, `    ${first?.fix}`]
    : []
  expect(skillLinesOf([alone]).map((line, at) => line.slice(0, shown[at]?.length))).toEqual(shown)
  expect(told.filter((line) => line.startsWith('  - ')).map((line) => line.slice(0, shown[0]?.length))).toEqual(
    shown.slice(0, 1),
  )
  // `doctor`.
  const checks = sourceItem(alone, NOW).parts?.flatMap((part) => resultsOf(part)) ?? []
  const isOut = !isNoSkill(verdict) && ['waiting', 'withheld', 'disabled'].includes(one.is)
  expect(checks).toMatchObject(isOut ? [{ check: one.code, subject: `team/${path}` }] : [])
  const saidOf = one.is === 'disabled' ? `${first?.message}; ${first?.fix}` : first?.message
  expect(checks.every(({ message }) => message === `${word}: ${saidOf}`)).toBe(true)
  expect(checks.flatMap(({ fix = [] }) => fix)).toEqual(isOut && one.is !== 'disabled' ? [first?.fix] : [])
  // The page.
  const page = pageOf(path)
  expect(page.includes(`>${word}</span>`)).toBe(one.code !== undefined && one.skill?.standing !== 'unlisted')
  // A code that says no more than the state is not said twice.
  expect(page.includes(`<strong>${first?.code}</strong>`)).toBe(page !== '' && first?.code !== word)
})

test('the counts of status, of metrics and of the page are those of the verdicts', () => {
  const counted = VERDICT_STATES.map((state) => {
    const alike = Object.keys(CASES).map((path) => verdictOf(skillIn(path)))
    return [state, alike.filter((verdict) => verdict.state === state && !isNoSkill(verdict)).length] as const
  })

  const families = catalogFamilies({ catalog: CATALOG, sources: [CONFIGURED], ...DECISIONS })

  expect(SOURCE.tally).toEqual({ seen: SNAPSHOT.skills.length, links: 1, ...Object.fromEntries(counted) })
  const states = families.find(({ name }) => name === 'skillsyncd_source_skills')?.samples
  expect(Object.fromEntries(states?.map(({ labels, value }) => [labels?.['state'], value]) ?? [])).toEqual({
    links: 1,
    ...Object.fromEntries(counted),
  })
  expect(tallyText(SOURCE.tally)).toBe(
    '3 of 16 skills served, 1 waiting, 2 withheld, 5 partly served, 4 disabled, 1 link to nothing',
  )
})

test('each reason has a code that is explained, a place and a fix', () => {
  const known = new Set(explainedCodes().map(({ code }) => code))
  const reasons = Object.keys(CASES).flatMap((path) => verdictOf(skillIn(path)).reasons)

  expect(reasons.length).toBeGreaterThan(15)
  expect(reasons.filter(({ code }) => !known.has(code))).toEqual([])
  expect(reasons.filter(({ place, fix }) => !place.startsWith('team/') || fix === '')).toEqual([])
})

function withheld(): Partial<Skill> {
  return { standing: 'withheld', files: [], size: 0, digest: undefined }
}

function skillAt([path, { skill: more, finds = [] }]: readonly [string, Case], index: number): Skill {
  const { skill } = numbered(index)
  const findings = finds.map((rule) => ({ rule, path, message: `It has ${rule}` }))
  return { ...skill, path, name: path, servedPath: path, findings, ...more }
}

function skillIn(path: string): Skill {
  const skill = SNAPSHOT.skills.find((one) => one.path === path)
  if (skill === undefined) throw new Error(`No skill is at ${path}`)
  return skill
}

function decisionsOf(cases: typeof CASES): SkillDecisions {
  const at = NOW.toISOString()
  const ofKind = (decided: Case['decided']): readonly string[] =>
    Object.keys(cases).filter((path) => cases[path]?.decided === decided)
  const placeOf = (path: string) => ({ source: TEAM, path })
  const disabled = ofKind('disabled').map((path) => disableRule([placeOf(path)]))
  const scanned = ofKind('scanned').map((path) => scanRule(placeOf(path), skillIn(path).digest ?? ''))
  const recalled = ofKind('recalled').flatMap((path): readonly RecallRule[] => {
    const recall = newRecall([skillIn(path).digest ?? ''], 'leaks a key', { at, by: 'person' })
    return [{ ...recall, on: { ...recall.on, places: [placeOf(path)] } }]
  })
  const approvals = SNAPSHOT.skills.flatMap((skill): readonly AdmitRule[] => {
    const declaration = declarationOf(skill)
    if (cases[skill.path]?.decided === 'waiting' || declaration === undefined) return []
    return [{ at, by: 'person', who: 'ada', effect: 'admit', on: { ...placeOf(skill.path), declaration } }]
  })
  return { outOfService: [...disabled, ...scanned, ...recalled], approvals }
}

function configOf(): ServedConfig {
  const yaml = 'sources:\n  - { id: team, mcp: "https://mcp.example.com", approval: required }\nstate: /state\n'
  const config = parseConfig(yaml, '/etc/skillsyncd.yaml', environmentOf({}, '/home/me'))
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  return config
}

function sourceOf(snapshot: Snapshot, leavesFindings = false): SourceStatus {
  const [source] = statusOf({
    config: CONFIG,
    catalog: CATALOG,
    recordOf: () => recordAt(undefined, { url: snapshot.url }),
    decisions: new Map(),
    loss: undefined,
    lost: [],
    lock: undefined,
    nextPolls: new Map(),
    lookingSince: new Map(),
    fetchedFrom: undefined,
    startedAt: undefined,
    http: undefined,
    leavesFindings,
    ...DECISIONS,
  }).sources
  if (source === undefined) throw new Error('No source')
  return source
}

/** The entry of a skill in the page with the problems; empty if it has none. */
function pageOf(path: string): string {
  const around = { catalog: CATALOG, config: CONFIG, decisions: DECISIONS, scans: NO_SCANS }
  const problems = pathProblemsOf(SNAPSHOT, around).filter((problem) => problem.path === path)
  const none = (): readonly never[] => []
  const host = { items: none, sources: none, misfits: none, problems: () => problems, clean: String }
  const view = { host, catalog: CATALOG, params: new URLSearchParams(), up: './', isWhole: true } as unknown as PageView
  return problems.length === 0 ? '' : problemsView(view).content.html
}
