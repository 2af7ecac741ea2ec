import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import type { RingHubConfig } from './ring-config.ts'
import { holdRingRequest, promoteRequest } from './ring-requests.ts'
import { expectLaterRing, expectRings, MOST_HOLD_REASON } from './ring-requests.ts'

const RING = { type: 'string', value: 'RING' } as const

export const promote: Command = {
  name: 'promote',
  summary: 'Let a ring take now what the ring before it serves',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  Without SOURCE: all sources. Without --now, only what is due, which the daemon does by itself. A hold always counts.
`,
  examples: ['skillsyncd promote team --now', 'skillsyncd promote team --ring stable --now'],
  options: {
    ring: { ...RING, help: 'only this ring takes something; default: each ring after the first' },
    now: { type: 'boolean', help: 'leave out min_age, and all that stops it except a hold' },
  },
  async run(context: Context<RingHubConfig>) {
    const config = await configFor(context)
    const ring = ringNamed(context, config)
    expectRings(config)
    const sources = context.operands.length === 0 ? [] : sourcesNamed(context.operands, config)
    const asked = { sources, ring, now: context.values['now'] === true }
    const promotions = await withWriter(context, config, async (ask) => ask(promoteRequest, asked))
    if (context.json) printJson(context, { promotions })
    else if (promotions.length === 0) printLines(context, ['nothing to promote; skillsyncd rings shows what waits'])
    else
      printLines(
        context,
        promotions.map((one) => `${one.source}: ring ${one.ring}: ${one.from ?? 'nothing'} -> ${one.commit}`),
      )
    return 0
  },
}

export const hold: Command = {
  name: 'hold',
  summary: 'Keep a ring from taking new commits of a source',
  operands: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: '\n  It lasts until skillsyncd unhold. Clients of the ring keep what they have.\n',
  examples: ['skillsyncd hold team --ring stable --reason "release week"'],
  options: {
    ring: { ...RING, help: 'the ring that takes nothing; not the first one' },
    reason: { type: 'string', value: 'TEXT', help: 'the reason, for status and log' },
  },
  async run(context: Context<RingHubConfig>) {
    const { reason } = context.values
    if (typeof reason !== 'string' || reason.trim() === '')
      throw new UsageError('"hold" wants --reason TEXT, which the status shows')
    if (reason.trim().length > MOST_HOLD_REASON)
      throw new UsageError(`--reason takes ${MOST_HOLD_REASON} characters at most`)
    return changeHolds(context, reason.trim())
  },
}

export const unhold: Command = {
  name: 'unhold',
  summary: 'Let a ring take new commits of a source again',
  operands: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  examples: ['skillsyncd unhold team --ring stable'],
  options: { ring: { ...RING, help: 'the ring that was held' } },
  run: (context: Context<RingHubConfig>) => changeHolds(context, undefined),
}

async function changeHolds(context: Context<RingHubConfig>, reason: string | undefined): Promise<0> {
  const config = await configFor(context)
  const ring = ringNamed(context, config)
  const [word, done] = reason === undefined ? ['unhold', 'no longer held'] : ['hold', 'held']
  if (ring === undefined) throw new UsageError(`"${word}" wants --ring RING; skillsyncd rings shows them`)
  if (context.operands.length === 0) throw new UsageError(`"${word}" wants the id of a source`)
  const ids = sourcesNamed(context.operands, config)
  await withWriter(context, config, async (ask) => {
    for (const source of ids) await ask(holdRingRequest, { source, ring, ...(reason !== undefined && { reason }) })
  })
  if (context.json) printJson(context, { sources: ids, ring, ...(reason !== undefined && { reason }) })
  else
    printLines(
      context,
      ids.map((id) => `${id}: ${done} in the ring ${ring}`),
    )
  return 0
}

function ringNamed({ values }: Context, config: RingHubConfig): string | undefined {
  const { ring } = values
  if (typeof ring !== 'string') return undefined
  expectLaterRing(ring, config)
  return ring
}
