import { resolve } from 'node:path'
import { writeWhole } from '../../../sync/store/files/atomic.ts'
import { Store } from '../../../sync/store/store.ts'
import { logOf, printJsonText } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import type { Config } from '../../config/config.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { billOf } from './bill.ts'
import type { Bill } from './bill.ts'

/** Each format is loaded on demand. */
const FORMATS: ReadonlyMap<string, () => Promise<(bill: Bill) => string>> = new Map([
  ['cyclonedx', async () => (await import('./cyclonedx.ts')).cycloneDxOf],
  ['spdx', async () => (await import('./spdx.ts')).spdxOf],
])

export const exportBill: Command = {
  name: 'hub export',
  operands: { text: '[SKILL…]', most: Number.POSITIVE_INFINITY, offers: ['skills'] },
  details: `
  The SBOM has each file with its digest, origin, signer and license. An SBOM is a software bill of materials. With the
  same generation it has the same bytes.

  With --proof the file proves, to anyone with the public key, that the channel of this hub, or the channel that a source
  follows, has these skills, or all of them: skillsyncd verify --proof checks it without a network. It has the newest entry
  on a hub, and the served one on a follower.
`,
  examples: [
    'skillsyncd hub export --output skills.cdx.json',
    'skillsyncd hub export --format spdx',
    'skillsyncd hub export --proof review.proof.json team/review',
  ],
  options: {
    format: {
      type: 'string',
      value: 'F',
      help: 'cyclonedx (1.6) or spdx (2.3), both as JSON; default: cyclonedx',
      offers: ['cyclonedx', 'spdx'],
    },
    generation: { type: 'string', value: 'N', help: 'a stored generation; default: the served one' },
    output: {
      type: 'string',
      value: 'FILE',
      help: 'the file to write; default: stdout',
      offers: 'files',
    },
    proof: { type: 'string', value: 'FILE', help: 'write a proof to this file, and no SBOM', offers: 'files' },
    pack: { type: 'string', value: 'PACK', help: 'with --proof, on a hub: the channel of this pack', offers: 'packs' },
    ring: { type: 'string', value: 'RING', help: 'with --proof, on a hub: the channel of this ring' },
  },
  async run(context) {
    const { proof, pack, ring } = context.values
    if (proof !== undefined) return context.runVariant('hub export --proof')
    if (context.operands.length > 0 || pack !== undefined || ring !== undefined)
      throw new UsageError('Skills, --pack and --ring go with --proof; an SBOM has a whole generation')
    const load = formatOf(context)
    const number = numberOf(context)
    const file = outputOf(context)
    const config = await configInUse(context)
    const [bill, form] = await Promise.all([billIn(config, number), load()])
    const text = form(bill)
    if (file === undefined) printJsonText(context, text)
    else {
      await writeWhole(file, `${text}\n`)
      logOf(context).info('exported', { file, generation: bill.generation, skills: bill.skills.length })
    }
    return 0
  },
}

function formatOf({ values }: Context): () => Promise<(bill: Bill) => string> {
  const format = values['format'] ?? 'cyclonedx'
  const load = typeof format === 'string' ? FORMATS.get(format) : undefined
  if (load === undefined) throw new UsageError(`--format is one of ${[...FORMATS.keys()].join(', ')}`)
  return load
}

function numberOf({ values }: Context): number | undefined {
  const text = values['generation']
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new UsageError('--generation is the number of a generation; skillsyncd log lists them')
}

function outputOf({ values }: Context): string | undefined {
  const file = values['output']
  if (file === '') throw new UsageError('--output names no file')
  return typeof file === 'string' ? resolve(file) : undefined
}

async function billIn(config: Config, number: number | undefined): Promise<Bill> {
  using store = await Store.openExisting(config.state)
  const generation = await (number === undefined ? store?.generations.current() : store?.generations.read(number))
  if (store === undefined || generation === undefined) throw missing(config, number)
  const snapshots = await Promise.all(generation.sources.map(({ snapshot }) => store.snapshots.read(snapshot)))
  return billOf(generation, snapshots)
}

function missing({ state }: Config, number: number | undefined): OperatorError {
  const why =
    number === undefined
      ? `nothing has been pulled into "${state}" so far; try skillsyncd sync`
      : `there is no generation ${number} in "${state}" any more; skillsyncd log lists those that are kept`
  return new OperatorError('unknown-generation', `Cannot write an SBOM: ${why}`)
}
