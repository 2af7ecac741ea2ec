import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Catalogs } from './catalog.ts'
import { answerParent } from './child.ts'
import { measuredOptions } from './http-options.ts'

const { Registry } = await import('../src/serve/registry.ts')
const { serveHttp } = await import('../src/serve/site/server.ts')
const { formsOf } = await import('../test/support/clients/forms.ts')
const { systemClock } = await import('../src/base/async/clock.ts')
const { createLog } = await import('../src/daemon/runtime/log/log.ts')
const { Redactor } = await import('../src/daemon/runtime/log/redactor.ts')
const { ServingCounts } = await import('../src/daemon/status/metrics/serving-counts.ts')
const { UsageRecorder } = await import('../src/features/usage/usage-recorder.ts')

// The server that is measured, in a process of its own: the HTTP side of the daemon with its limits as they are if nobody
// sets them, over a catalog in memory. Started with the number of skills, and
// `metered` where all that is asked is counted, or `used` where the use of skills is counted too.

const catalogs = new Catalogs(Number(process.argv[2]))
const registry = new Registry()
registry.publish(catalogs.next())

/** Production has no tools yet: one that says what it was told is enough to see what a call costs around it. */
const tool = {
  capabilities: { tools: {} },
  methods: (known: object) => ({
    ...known,
    'tools/call': (params: Readonly<Record<string, unknown>>) => ({
      content: [{ type: 'text', text: JSON.stringify(params['arguments']) }],
    }),
  }),
}

const folder = await mkdtemp(join(tmpdir(), 'skillsyncd-usage-'))
const log = createLog({
  level: 'error',
  stream: process.stderr,
  format: 'json',
  journal: false,
  clock: systemClock,
  redactor: new Redactor(),
})
const usage =
  process.argv[3] === 'used'
    ? new UsageRecorder(join(folder, 'usage.db'), { principals: false, days: 400 }, log, systemClock)
    : undefined
process.on('exit', () => rmSync(folder, { recursive: true }))

const http = await serveHttp(
  {
    registry,
    read: async (_, file) => catalogs.bytesOf(file.sha256),
    pages: { entries: 1_000, bytes: 2 ** 20 },
    cache: { ttlMs: 60_000, cacheScope: 'public' },
    forms: formsOf(),
    surfaces: [tool],
    ...(process.argv[3] !== undefined && { meter: new ServingCounts() }),
    ...(usage !== undefined && { use: usage.count }),
  },
  measuredOptions(15_000),
)

let coming = catalogs.next()
answerParent({
  url: () => `${http.url}/mcp`,
  uri: () => catalogs.changing,
  /** Makes the catalog that `publish` publishes. */
  prepare: () => void (coming = catalogs.next()),
  publish: () => registry.publish(coming),
})
