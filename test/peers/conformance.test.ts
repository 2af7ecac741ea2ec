import { beforeAll, describe, expect, test } from 'vitest'
import { TEST_SURFACE } from '../support/clients/test-surface.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { CONFORMANCE, runForeign } from './foreign.ts'
import { checksIn, checksWith, scenariosListed } from './official-suite.ts'
import type { Check } from './official-suite.ts'

const REVISIONS = ['2025-11-25', '2026-07-28'] as const
type Revision = (typeof REVISIONS)[number]

const ASKS_THE_CLIENT = 'no tool, prompt or resource of ours asks the client for anything'
const NO_TASKS = 'the Tasks extension is not declared: no request of ours takes so long'
const LOGS_TO_THE_OPERATOR = 'logs go to the operator; the logging capability is not declared'

/**
 * Every server scenario of the suite. One that applies passes in each revision that has it, with no failure and no warning;
 * of one that does not the reason stands here, and it does not pass. `unasked`: it passes, but for want of what it asks for.
 */
const SCENARIOS: Readonly<Record<string, 'applies' | { readonly not: string } | { readonly unasked: string }>> = {
  'server-initialize': 'applies',
  'server-session-lifecycle': 'applies',
  'server-stateless': 'applies',
  'logging-set-level': { not: LOGS_TO_THE_OPERATOR },
  ping: 'applies',
  'completion-complete': 'applies',
  'tools-list': 'applies',
  'tools-call-simple-text': 'applies',
  'tools-call-image': 'applies',
  'tools-call-audio': 'applies',
  'tools-call-embedded-resource': 'applies',
  'tools-call-mixed-content': 'applies',
  'tools-call-with-logging': { not: LOGS_TO_THE_OPERATOR },
  'tools-call-error': 'applies',
  'tools-call-with-progress': { not: 'a request is answered with JSON, not with a stream: nothing takes so long' },
  'tools-call-sampling': { not: ASKS_THE_CLIENT },
  'tools-call-elicitation': { not: ASKS_THE_CLIENT },
  'json-schema-2020-12': 'applies',
  'elicitation-sep1034-defaults': { not: ASKS_THE_CLIENT },
  'server-sse-polling': { not: 'a request is answered with JSON, so there is no stream to poll and resume' },
  'server-sse-multiple-streams': 'applies',
  'elicitation-sep1330-enums': { not: ASKS_THE_CLIENT },
  'resources-list': 'applies',
  'resources-read-text': 'applies',
  'resources-read-binary': 'applies',
  'resources-templates-read': 'applies',
  'resources-subscribe': 'applies',
  'resources-unsubscribe': 'applies',
  'sep-2164-resource-not-found': 'applies',
  'sep-2640-skills-directory': 'applies',
  'sep-2640-skills-enumeration': 'applies',
  'sep-2640-skills-manifest': 'applies',
  'prompts-list': 'applies',
  'prompts-get-simple': 'applies',
  'prompts-get-with-args': 'applies',
  'prompts-get-embedded-resource': 'applies',
  'prompts-get-with-image': 'applies',
  'dns-rebinding-protection': 'applies',
  caching: 'applies',
  'http-header-validation': 'applies',
  'http-custom-header-server-validation': { not: 'not testable: no tool of ours takes an argument by a header' },
  'tasks-lifecycle': { not: NO_TASKS },
  'tasks-capability-negotiation': { not: NO_TASKS },
  'tasks-wire-fields': { not: NO_TASKS },
  'tasks-request-state-removal': { not: NO_TASKS },
  'tasks-mrtr-input': { not: NO_TASKS },
  'tasks-request-headers': { not: NO_TASKS },
  'tasks-dispatch-and-envelope': { not: NO_TASKS },
  'tasks-status-notifications': { not: NO_TASKS },
  'tasks-required-task-error': { not: NO_TASKS },
  'tasks-mrtr-composition': { not: NO_TASKS },
  'input-required-result-basic-elicitation': { not: ASKS_THE_CLIENT },
  'input-required-result-basic-sampling': { not: ASKS_THE_CLIENT },
  'input-required-result-basic-list-roots': { not: ASKS_THE_CLIENT },
  'input-required-result-request-state': { not: ASKS_THE_CLIENT },
  'input-required-result-multiple-input-requests': { not: ASKS_THE_CLIENT },
  'input-required-result-multi-round': { not: ASKS_THE_CLIENT },
  'input-required-result-missing-input-response': { not: ASKS_THE_CLIENT },
  'input-required-result-non-tool-request': { not: ASKS_THE_CLIENT },
  'input-required-result-result-type': { not: ASKS_THE_CLIENT },
  'input-required-result-unsupported-methods': 'applies',
  'input-required-result-tampered-state': { not: ASKS_THE_CLIENT },
  'input-required-result-capability-check': { not: ASKS_THE_CLIENT },
  'input-required-result-ignore-extra-params': { not: ASKS_THE_CLIENT },
  'input-required-result-validate-input': { unasked: ASKS_THE_CLIENT },
}

type Verdict = (typeof SCENARIOS)[string]

/** In which revisions the suite has each scenario. It runs those about an extension on 2026-07-28, or as it is forced to. */
const LISTED = revisionsIn(await scenariosListed('server'))
const FORCED = [...LISTED.keys()].filter((name) => name.startsWith('sep-2640-') && SCENARIOS[name] === 'applies')

function revisionsIn(listed: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const revisions = (text: string): string[] => (text === 'extension' ? ['2026-07-28'] : text.split(','))
  return new Map([...listed].map(([scenario, text]) => [scenario, revisions(text)]))
}

const found: Readonly<Record<Revision, Map<string, readonly Check[]>>> = {
  '2025-11-25': new Map(),
  '2026-07-28': new Map(),
}

beforeAll(async () => {
  await using repository = await Repository.create()
  await repository.commit({
    'alpha/SKILL.md': '---\nname: alpha\ndescription: Has a folder\n---\n# alpha\n',
    'alpha/references/more.md': '# more\n',
    'beta/SKILL.md': '---\nname: beta\ndescription: Has none\n---\n# beta\n',
  })
  await using served = await serve(repository, { surfaces: [TEST_SURFACE] })
  const run = async (revisionOf: (scenario: string) => Revision, ...args: readonly string[]): Promise<void> => {
    for (const [scenario, checks] of await scenariosRun(served.url, args))
      found[revisionOf(scenario)].set(scenario, checks)
  }

  // Without a revision, a scenario is run on 2025-11-25 if that has it, and else on 2026-07-28.
  const first = (scenario: string): Revision =>
    LISTED.get(scenario)?.includes('2025-11-25') ? '2025-11-25' : '2026-07-28'
  const forced = ['--spec-version', '2025-11-25', '--force']
  await Promise.all([
    run(first, '--suite', 'all'),
    run(() => '2026-07-28', '--suite', 'all', '--spec-version', '2026-07-28'),
    ...FORCED.map((scenario) => run(() => '2025-11-25', '--scenario', scenario, ...forced)),
  ])
})

async function scenariosRun(url: string, args: readonly string[]): Promise<[string, readonly Check[]][]> {
  await using results = await temporaryFolder()
  await runForeign(CONFORMANCE, ['server', '--url', url, '--output-dir', results.path, ...args])
  return [...(await checksIn(results.path))].map(([folder, checks]) => [scenarioOf(folder), checks])
}

function scenarioOf(folder: string): string {
  const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)?.[1]
  if (scenario === undefined) throw new Error(`No scenario is known for the folder "${folder}"`)
  return scenario
}

test('the suite has the scenarios of the table, and no other', () => {
  expect([...LISTED.keys()].toSorted()).toEqual(Object.keys(SCENARIOS).toSorted())
})

describe.each(REVISIONS)('on %s', (revision) => {
  const applies = having(revision, (verdict) => verdict === 'applies')
  test.each([...applies, ...(revision === '2025-11-25' ? FORCED : [])])('%s passes', (scenario) => {
    expect(complaints(revision, scenario)).toEqual([])
    expect(successes(revision, scenario)).not.toEqual([])
  })

  const not = having(revision, (verdict) => typeof verdict === 'object' && 'not' in verdict)
  test.each(not)('%s does not pass', (scenario) => {
    expect(complaints(revision, scenario).length > 0 || successes(revision, scenario).length === 0).toBe(true)
  })
})

const unasked = having('2026-07-28', (verdict) => typeof verdict === 'object' && 'unasked' in verdict)
test.each(unasked)('%s passes, being asked nothing', (scenario) => {
  expect(complaints('2026-07-28', scenario)).toEqual([])
})

/** The scenarios that the suite runs on a revision, and of which the table says this. */
function having(revision: Revision, says: (verdict: Verdict | undefined) => boolean): readonly string[] {
  const here = [...LISTED].filter(([, revisions]) => revisions.includes(revision))
  return here.map(([scenario]) => scenario).filter((scenario) => says(SCENARIOS[scenario]))
}

function complaints(revision: Revision, scenario: string): readonly string[] {
  return checksWith(checksOf(revision, scenario), 'FAILURE', 'WARNING')
}

/** What the scenario itself found good; that our messages have the form of the revision, each scenario finds. */
function successes(revision: Revision, scenario: string): readonly string[] {
  const own = checksOf(revision, scenario).filter(({ id }) => id !== 'wire-schema-valid')
  return checksWith(own, 'SUCCESS')
}

function checksOf(revision: Revision, scenario: string): readonly Check[] {
  const checks = found[revision].get(scenario)
  if (checks === undefined) throw new Error(`The scenario "${scenario}" was not run on ${revision}`)
  return checks
}
