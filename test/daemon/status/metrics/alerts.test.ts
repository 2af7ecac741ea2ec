import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { isByChoice, isSyncErrorCode } from '../../../../src/sync/model/sync-error.ts'
import type { SyncErrorCode } from '../../../../src/sync/model/sync-error.ts'
import { promtool } from '../../../support/http/prometheus.ts'

const FOLDER = fileURLToPath(new URL('../../../../examples/alerts/', import.meta.url))
const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url))

const RULES = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
})

async function rules() {
  const { groups } = RULES.parse(parse(await readFile(`${FOLDER}skillsyncd.rules.yaml`, 'utf8')))
  return groups.flatMap((group) => group.rules)
}

test('there is an alert for each problem of a source that nobody decided on', async () => {
  const troubleshooting = await readFile(`${DOCS}troubleshooting.md`, 'utf8')
  const codes = [...troubleshooting.matchAll(/^#+ (.+)$/gm)].flatMap(([, heading = '']) =>
    heading.split(/[^a-z-]+/).filter(isSyncErrorCode),
  )
  const alerting = new Set(
    (await rules()).flatMap(({ expr }) => expr.match(/code=~?"([a-z|-]+)"/)?.[1]?.split('|') ?? []),
  )

  expect(new Set(codes).size).toBeGreaterThan(20)
  const silent = (code: SyncErrorCode) => isByChoice(code) || OF_THE_PROCESS.has(code)
  expect([...new Set(codes)].filter((code) => alerting.has(code) === silent(code))).toEqual([])
})

/** No source has these: with them a daemon does not start, a command ends, or a publication fails. */
const OF_THE_PROCESS: ReadonlySet<SyncErrorCode> = new Set(['socket-failed', 'folder-unsafe', 'push-refused'])

test('alerts are about figures that there are, and docs/operations.md says what to do about each', async () => {
  const docs = await readFile(`${DOCS}operations.md`, 'utf8')

  for (const { alert, expr } of await rules()) {
    const figures = (expr.match(/\b(?:skillsyncd|process|nodejs)_[a-z_]+/g) ?? []).map((name) =>
      name.replace(/_bucket$/, ''),
    )
    expect(figures.filter((name) => !docs.includes(`\n\`${name}\` | `))).toEqual([])
    expect(docs).toContain(`\n\`${alert}\` | `)
  }
})

// Only Prometheus itself knows what its rules mean.
test('promtool takes the rules, and they fire when they should and no sooner', () => {
  const checked = promtool(['check', 'rules', `${FOLDER}skillsyncd.rules.yaml`])
  const tested = promtool(['test', 'rules', `${FOLDER}skillsyncd.rules.test.yaml`])

  expect(checked).toMatchObject({ status: 0 })
  expect(tested, tested.said).toMatchObject({ status: 0 })
})
