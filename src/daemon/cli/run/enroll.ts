import { ENROLLED_AGENTS, tokenStep } from '../../../serve/marketplace/enrollment.ts'
import type { EnrolledAgent, EnrollmentStep, MarketplaceAddress } from '../../../serve/marketplace/enrollment.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { Config } from '../../config/config.ts'
import { isTokenRequired } from '../../http/http-options.ts'
import { configFor, printJson } from '../command.ts'
import type { Command, Context } from '../command.ts'
import { hubAddressOf } from '../hub-address.ts'
import { packsNamed } from '../pack-option.ts'

const IDS = ENROLLED_AGENTS.map(({ id }) => id)

/** Prints how agents take the plugin marketplace of the configuration. */
export const enroll: Command = {
  name: 'enroll',
  summary: 'How agents take the plugin marketplace: commands for a person, files for an organization',
  operands: { text: '[AGENT…]', most: IDS.length, offers: [IDS] },
  options: {
    url: { type: 'string', value: 'URL', help: 'the address of the hub; default: that of the configuration' },
    pack: {
      type: 'string',
      multiple: true,
      value: 'ID',
      offers: 'packs',
      help: 'the plugins of these packs alone; default: all',
    },
    organization: { type: 'boolean', help: 'the files that a Linux machine has for all of its users' },
  },
  details: `
  Agents are ${IDS.join(', ')}; without one, all are printed. Nothing is written.
`,
  async run(context) {
    const config = await configFor(context)
    const marketplace = await marketplaceOf(config, context)
    const isForOrganization = context.values['organization'] === true
    const token = tokenStep(marketplace)
    const agents = agentsNamed(context.operands, isForOrganization).map((agent) => ({
      agent: agent.id,
      title: agent.title,
      steps: (isForOrganization ? agent.organization : agent.person)?.(marketplace) ?? [],
    }))
    if (context.json) {
      const { url, name } = marketplace
      printJson(context, { url, name, ...(token !== undefined && { token }), agents })
      return 0
    }
    const blocks = [...(token === undefined ? [] : [['Token, for git', token] as const]), ...agents.flatMap(blocksOf)]
    context.streams.stdout.write(blocks.map(([title, step]) => textOf(title, step)).join('\n'))
    return 0
  },
}

async function marketplaceOf(config: Config, context: Context): Promise<MarketplaceAddress> {
  const { marketplace, http } = config.serve
  if (marketplace === undefined)
    throw new UsageError('There is no marketplace: give it a name in serve.marketplace, and reload the daemon')
  const named = context.values['url']
  const hub = typeof named === 'string' ? named : await hubAddressOf(config, context.signal)
  const url = URL.parse('/marketplace.git', hub)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new UsageError('--url is no http(s) address without a user, such as https://hub.example.com')
  const packs = packsNamed(context.values['pack'], config)
  const plugins = packs ?? [...config.packs.map(({ id }) => id), marketplace.plugin]
  return { url: url.href, name: marketplace.name, plugins, isTokenRequired: isTokenRequired(config, http) }
}

function agentsNamed(ids: readonly string[], isForOrganization: boolean): readonly EnrolledAgent[] {
  const unknown = ids.find((id) => !IDS.includes(id))
  if (unknown !== undefined) throw new UsageError(`"${unknown}" is no agent that is known; there are ${IDS.join(', ')}`)
  const named = ENROLLED_AGENTS.filter(({ id }) => ids.length === 0 || ids.includes(id))
  const possible = named.filter(({ organization }) => !isForOrganization || organization !== undefined)
  if (possible.length > 0) return possible
  throw new UsageError(`${ids.join(', ')} has no file for all users that is known`)
}

function blocksOf({ title, steps }: { readonly title: string; readonly steps: readonly EnrollmentStep[] }) {
  return steps.map((step) => [title, step] as const)
}

function textOf(title: string, { where, text }: EnrollmentStep): string {
  return `# ${title}: ${where}\n${text}\n`
}
