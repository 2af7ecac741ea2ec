import { ENROLLED_AGENTS, stepOf, tokenStep } from '../../../serve/marketplace/enrollment.ts'
import type { EnrolledAgent, EnrollmentStep, MarketplaceAddress } from '../../../serve/marketplace/enrollment.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { Config } from '../../config/config.ts'
import { isTokenRequired } from '../../http/http-options.ts'
import { configFor, printJson } from '../command.ts'
import type { Command, Context } from '../command.ts'
import { hubAddressOf } from '../hub-address.ts'
import { packsNamed } from '../pack-option.ts'
import { checkEnrollment } from './enroll-check.ts'
import { writeEnrollment } from './enroll-write.ts'

const IDS = ENROLLED_AGENTS.map(({ id }) => id)

/** Prints how agents take the plugin marketplace of the configuration, or writes it into their settings. */
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
    write: { type: 'boolean', help: 'write it into the settings of the named agents, after a question' },
    yes: { type: 'boolean', help: 'with --write: write without a question' },
    'dry-run': { type: 'boolean', help: 'with --write: show what would be written' },
    check: {
      type: 'boolean',
      help: 'compare their settings, and ask the address; exits with 3 where something is wrong',
    },
    'token-file': {
      type: 'string',
      value: 'FILE',
      offers: 'files',
      help: 'with --write: the file of the token that ~/.netrc gives to git',
    },
    root: {
      type: 'string',
      value: 'DIR',
      offers: 'folders',
      help: 'with --organization: the folder of an image, in place of /',
    },
  },
  details: `
  Agents are ${IDS.join(', ')}; without one, all are printed.
  Nothing is written without --write, which changes what it names and keeps every other byte, comments too. It refuses
  a file that is not valid, that is of another user, or that has another table of that name. It ends with the check. A
  token is never shown, and is in no settings.
`,
  async run(context) {
    expectCombined(context)
    const config = await configFor(context)
    const marketplace = await marketplaceOf(config, context)
    const isForOrganization = context.values['organization'] === true
    const named = agentsNamed(context.operands, isForOrganization)
    if (context.values['write'] === true) return writeEnrollment(context, { marketplace, agents: named })
    if (context.values['check'] === true) return checkEnrollment(context, { marketplace, agents: named })
    const token = tokenStep(marketplace)
    const agents = named.map((agent) => ({
      agent: agent.id,
      title: agent.title,
      steps: isForOrganization ? managedSteps(agent, marketplace) : agent.person(marketplace),
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

function expectCombined({ operands, values }: Context): void {
  const lone = ['yes', 'dry-run', 'token-file'].find((name) => values[name] !== undefined)
  if (values['write'] !== true && lone !== undefined) throw new UsageError(`--${lone} goes with --write`)
  if (values['write'] === true && operands.length === 0)
    throw new UsageError(`--write wants the names of agents: ${IDS.join(', ')}`)
  if (values['write'] === true && values['check'] === true)
    throw new UsageError('--write ends with the check: --write and --check exclude each other')
  if (values['organization'] !== true) {
    if (values['root'] !== undefined) throw new UsageError('--root goes with --organization')
  } else if (values['token-file'] !== undefined)
    throw new UsageError('A token is of one person: --token-file and --organization exclude each other')
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
  if (!isForOrganization) return named
  const possible = named.filter(({ organization }) => organization !== undefined)
  if (ids.length === 0) return possible
  const without = named.find(({ organization }) => organization === undefined)
  if (without === undefined) return possible
  throw new UsageError(`${without.id} has no file for all users that is known; leave it out`)
}

function managedSteps({ organization }: EnrolledAgent, marketplace: MarketplaceAddress): readonly EnrollmentStep[] {
  return (organization?.(marketplace) ?? []).map(({ path, settings }) => stepOf(path, settings))
}

function blocksOf({ title, steps }: { readonly title: string; readonly steps: readonly EnrollmentStep[] }) {
  return steps.map((step) => [title, step] as const)
}

function textOf(title: string, { where, text }: EnrollmentStep): string {
  return `# ${title}: ${where}\n${text}\n`
}
