import { expect, test } from 'vitest'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { pathDiagnosticsOf } from '../../../../src/daemon/status/page/page-diagnostics.ts'
import type { PathDiagnostics } from '../../../../src/serve/page/page-data.ts'
import { EMPTY_CATALOG } from '../../../../src/sync/catalog/catalog.ts'
import { NOTHING_OUT } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { NO_SCANS } from '../../../../src/sync/store/scan-records.ts'
import { skillText, type Files } from '../../../support/git/scripted-upstream.ts'
import { surveyed } from '../../../sync/survey/surveyed.ts'

test('the message of a clash has the mend for its two skills, and no other mend follows it', async () => {
  const [copy] = await diagnosticsOf({ 'a/SKILL.md': skillText('pdf'), 'pdf/SKILL.md': skillText('pdf') })
  const [clash] = await diagnosticsOf({
    'a/SKILL.md': skillText('pdf', '', 'Another text'),
    'pdf/SKILL.md': skillText('pdf'),
  })

  expect(clash).toMatchObject({ path: 'a', standing: 'tools', diagnostics: [{ code: 'name-clash' }] })
  expect(clash?.diagnostics[0]?.message).toContain('rename one of the two')
  expect(clash?.diagnostics[0]).not.toHaveProperty('mend')
  expect(copy?.diagnostics[0]?.message).toContain('remove one of the two')
  expect(copy?.diagnostics[0]).not.toHaveProperty('mend')
})

test('any other finding is followed by the mend of its code', async () => {
  const [long] = await diagnosticsOf({ 'pdf/SKILL.md': skillText('pdf').replace('What pdf does', 'x'.repeat(1025)) })

  expect(long).toMatchObject({ diagnostics: [{ mend: 'keep it to 1,024 characters and move the rest into the body' }] })
})

async function diagnosticsOf(files: Files): Promise<readonly PathDiagnostics[]> {
  const yaml = 'sources:\n  - id: team\n    url: https://git.example.com/skills.git\n    ref: main\n'
  const config = parseConfig(yaml, '/etc/skillsyncd.yaml', environmentOf({}, '/home/me'))
  const configured = Array.isArray(config) ? undefined : config.sources[0]
  if (configured === undefined) throw new Error(JSON.stringify(config))
  const around = {
    catalog: EMPTY_CATALOG,
    configured,
    outOfService: NOTHING_OUT,
    pending: new Set<string>(),
    scans: NO_SCANS,
  }
  return pathDiagnosticsOf(await surveyed(files), around)
}
