import { isTokenRequired } from '../../../daemon/access/http-options.ts'
import { configFor, printJson } from '../../../daemon/cli/command.ts'
import type { Command, Context } from '../../../daemon/cli/command.ts'
import { hubAddressOf } from '../../../daemon/cli/hub-address.ts'
import { packsNamed } from '../../../daemon/cli/pack-option.ts'
import type { Config } from '../../../daemon/config/config.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { checkEnrollment } from './enroll-check.ts'
import { writeEnrollment } from './enroll-write.ts'
import { ENROLLED_AGENTS, stepOf, tokenStep } from './enrollment.ts'
import type { EnrolledAgent, EnrollmentStep, MarketplaceAddress } from './enrollment.ts'

const IDS = ENROLLED_AGENTS.map(({ id }) => id)

/** Prints how agents take the plugin marketplace of the configuration, or writes it into their settings. */
export const enroll: Command = {
  name: 'enroll',
  summary: 'Give agents the plugin marketplace',
  operands: { text: '[AGENT…]', most: IDS.length, offers: [IDS] },
  details: `
  It prints commands for a person, or settings for an organization.

  AGENT is ${IDS.join(', ')}; the default is all.

  Nothing is written without --write, which changes only its own entries and keeps every other byte, comments
  included. A file is refused if it is not valid, if another user owns it, or if it has another table with that name.
  Afterwards the check of --check runs. A token is never shown, and is never in a settings file.
`,
  examples: ['skillsyncd enroll claude-code', 'skillsyncd enroll codex --write', 'skillsyncd enroll --check'],
  options: {
    url: { type: 'string', value: 'URL', help: 'the address of the hub; default: the address in the configuration' },
    pack: {
      type: 'string',
      multiple: true,
      value: 'ID',
      offers: 'packs',
      help: 'only the plugins of these packs; default: all',
    },
    organization: { type: 'boolean', help: 'the settings for all users of a Linux machine' },
    write: { type: 'boolean', help: 'write the settings of the named agents, after a confirmation' },
    yes: { type: 'boolean', help: 'with --write: write without a confirmation' },
    'dry-run': { type: 'boolean', help: 'with --write: show what would be written' },
    check: {
      type: 'boolean',
      help: 'check the settings and the address; exit with 3 if something is wrong',
    },
    'token-file': {
      type: 'string',
      value: 'FILE',
      offers: 'files',
      help: 'with --write: the file with the token, which is written to ~/.netrc for git',
    },
    root: {
      type: 'string',
      value: 'DIR',
      offers: 'folders',
      help: 'with --organization: the root folder of an image, instead of /',
    },
  },
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
