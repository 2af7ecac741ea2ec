import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { configInUse } from '../../daemon/cli/config-in-use.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { expectLaterRing, expectRings } from '../../daemon/config/named-rings.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import type { RingHubConfig } from './ring-config.ts'
import { promoteRequest } from './ring-requests.ts'

export const promote: Command = {
  name: 'promote',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  Without SOURCE: all sources. Without --now, only what is due, which the daemon does by itself. A hold always counts.
`,
  examples: ['skillsyncd promote team --now', 'skillsyncd promote team --ring stable --now'],
  options: {
    ring: { type: 'string', value: 'RING', help: 'only this ring takes something; default: each ring after the first' },
    now: { type: 'boolean', help: 'leave out min_age, and all that stops it except a hold' },
  },
  async run(context: Context<RingHubConfig>) {
    const config = await configInUse(context)
    const ring = ringNamed(context, config)
    expectRings(config)
    const sources = context.operands.length === 0 ? [] : sourcesNamed(context.operands, config)
    const asked = { sources, ring, now: context.values['now'] === true }
    const promotions = await withWriter(context, config, async (ask) => ask(promoteRequest, asked))
    if (context.json) printJson(context, { promotions })
    else if (promotions.length === 0)
      printLines(context, ['nothing to promote; skillsyncd status --rings shows what waits'])
    else
      printLines(
        context,
        promotions.map((one) => `${one.source}: ring ${one.ring}: ${one.from ?? 'nothing'} -> ${one.commit}`),
      )
    return 0
  },
}

function ringNamed({ values }: Context, config: RingHubConfig): string | undefined {
  const { ring } = values
  if (typeof ring !== 'string') return undefined
  expectLaterRing(ring, config)
  return ring
}
