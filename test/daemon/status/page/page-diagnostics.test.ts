import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { pathProblemsOf } from '../../../../src/daemon/status/page/page-diagnostics.ts'
import type { PathProblems } from '../../../../src/serve/page/page-data.ts'
import { EMPTY_CATALOG } from '../../../../src/sync/catalog/catalog.ts'
import { NOTHING_OUT } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { NO_SCANS } from '../../../../src/sync/store/scan-records.ts'
import { disableRule } from '../../../support/decided.ts'
import { skillText, type Files } from '../../../support/git/scripted-upstream.ts'
import { sourceId } from '../../../sync/store/samples.ts'
import { surveyed } from '../../../sync/survey/surveyed.ts'

test('a clash makes one of two skills partly served, and a copy withheld, with what to do', async () => {
  const [copy] = await problemsOf({ 'a/SKILL.md': skillText('pdf'), 'pdf/SKILL.md': skillText('pdf') })
  const [clash] = await problemsOf({
    'a/SKILL.md': skillText('pdf', '', 'Another text'),
    'pdf/SKILL.md': skillText('pdf'),
  })

  expect(clash).toMatchObject({ path: 'a', state: 'partly', reasons: [{ code: 'name-clash', place: 'team/a' }] })
  expect(clash?.reasons[0]?.message).toContain('rename one of the two')
  expect(copy).toMatchObject({ path: 'a', state: 'withheld', reasons: [{ code: 'name-clash' }] })
  expect(copy?.reasons[0]?.message).toContain('remove one of the two')
})

test('a finding is followed by the fix of its code', async () => {
  const [long] = await problemsOf({ 'pdf/SKILL.md': skillText('pdf').replace('What pdf does', 'x'.repeat(1025)) })

  expect(long).toMatchObject({ reasons: [{ fix: 'keep it to 1,024 characters and move the rest into the body' }] })
})

test('the skill of another source that a disabled one matches is not named', async () => {
  const secret = sourceId('secret')
  const document = createHash('sha256').update(skillText('copy')).digest('hex')
  const disabled = [disableRule([{ source: secret, path: 'plans', document }])]

  const problems = await problemsOf({ 'copy/SKILL.md': skillText('copy') }, disabled)

  expect(problems).toMatchObject([{ path: 'copy', state: 'disabled', reasons: [{ place: 'team/copy' }] }])
  expect(JSON.stringify(problems)).not.toMatch(/secret|plans/)
})

async function problemsOf(files: Files, outOfService = NOTHING_OUT): Promise<readonly PathProblems[]> {
  const yaml = 'sources:\n  - id: team\n    url: https://git.example.com/skills.git\n    ref: main\n'
  const config = parseConfig(yaml, '/etc/skillsyncd.yaml', environmentOf({}, '/home/me'))
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  const around = {
    catalog: EMPTY_CATALOG,
    config,
    decisions: { outOfService, approvals: [] },
    scans: NO_SCANS,
  }
  return pathProblemsOf(await surveyed(files), around)
}
