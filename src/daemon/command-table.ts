import type { Command, Commands } from './cli/command.ts'

/** The commands under one heading of the help. */
export interface CommandGroup {
  readonly heading: string
  readonly commands: Commands
}

/** A command that is loaded on demand, because loading takes most of the time of a short run. */
type Load = () => Promise<Command>

function group(heading: string, commands: Readonly<Record<string, Load>>): CommandGroup {
  return { heading, commands: new Map(Object.entries(commands)) }
}

/** All commands in the order of the help. A name of two words belongs to a family, such as `mcp-source mirror`. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  group('Everyday', {
    init: async () => (await import('./commands/run/init.ts')).init,
    add: async () => (await import('./commands/run/add.ts')).add,
    remove: async () => (await import('./commands/run/remove.ts')).remove,
    start: async () => (await import('./commands/run/start.ts')).start,
    stop: async () => (await import('./commands/run/stop.ts')).stop,
    status: async () => (await import('./commands/show/status.ts')).status,
    list: async () => (await import('./commands/show/list.ts')).list,
    search: async () => (await import('./commands/show/search.ts')).searchCommand,
    show: async () => (await import('./commands/show/show.ts')).show,
    why: async () => (await import('./commands/show/why.ts')).why,
    usage: async () => (await import('../features/usage/usage.ts')).usageCommand,
    sync: async () => (await import('./commands/change/sync.ts')).sync,
    link: async () => (await import('../features/agent-folders/link.ts')).link,
    unlink: async () => (await import('../features/agent-folders/unlink.ts')).unlink,
    mcp: async () => (await import('./commands/run/mcp.ts')).mcp,
  }),
  group('Pinning and review', {
    lock: async () => (await import('./commands/change/lock.ts')).lock,
    outdated: async () => (await import('./commands/change/outdated.ts')).outdated,
    update: async () => (await import('./commands/change/update.ts')).update,
    verify: async () => (await import('./commands/verify/verify.ts')).verify,
    diff: async () => (await import('./commands/change/diff.ts')).diffCommand,
    preview: async () => (await import('./commands/change/preview.ts')).preview,
    approve: async () => (await import('./commands/change/approve.ts')).approve,
    reject: async () => (await import('./commands/change/approve.ts')).reject,
    pin: async () => (await import('./commands/change/decide.ts')).pin,
    pause: async () => (await import('./commands/change/decide.ts')).pause,
    rollback: async () => (await import('./commands/change/rollback.ts')).rollback,
    resume: async () => (await import('./commands/change/decide.ts')).resume,
    disable: async () => (await import('./commands/change/disable.ts')).disable,
    enable: async () => (await import('./commands/change/disable.ts')).enable,
    recall: async () => (await import('../features/channel/recall/recall.ts')).recall,
    rings: async () => (await import('../features/rings/rings.ts')).ringsCommand,
    promote: async () => (await import('../features/rings/promote.ts')).promote,
    hold: async () => (await import('../features/rings/promote.ts')).hold,
    unhold: async () => (await import('../features/rings/promote.ts')).unhold,
    scan: async () => (await import('../features/scan/scan.ts')).scan,
    log: async () => (await import('./commands/change/log.ts')).log,
  }),
  group('For authors', {
    new: async () => (await import('../features/author/new-skill.ts')).newSkill,
    validate: async () => (await import('../features/author/validate.ts')).validateCommand,
    project: async () => (await import('../features/author/project.ts')).projectCommand,
    instructions: async () => (await import('./commands/show/instructions.ts')).instructions,
  }),
  group('Administration', {
    doctor: async () => (await import('./commands/doctor/doctor.ts')).doctor,
    reload: async () => (await import('./commands/run/reload.ts')).reload,
    service: async () => (await import('./commands/run/service.ts')).service,
    token: async () => (await import('./commands/run/token.ts')).token,
    enroll: async () => (await import('../features/marketplace/enrollment/enroll.ts')).enroll,
    marketplace: async () => (await import('../features/marketplace/marketplace.ts')).marketplaceCommand,
    publish: async () => (await import('../features/marketplace/publish.ts')).publish,
    channel: async () => (await import('../features/channel/channel.ts')).channel,
    witness: async () => (await import('../features/channel/witness.ts')).witness,
    export: async () => (await import('./commands/sbom/export.ts')).exportBill,
    backup: async () => (await import('./commands/run/backup.ts')).backupCommand,
    restore: async () => (await import('./commands/run/backup.ts')).restoreCommand,
    'store copy': async () => (await import('../features/hub-of-several/store-copy.ts')).storeCopy,
    'store migrate': async () => (await import('../features/hub-of-several/store-migrate.ts')).storeMigrate,
    completion: async () => (await import('./cli/completion.ts')).completion,
    version: async () => (await import('./cli/version.ts')).versionCommand,
  }),
  group('Other MCP servers', {
    'mcp-source mirror': async () => (await import('../features/mcp-sources/mirror.ts')).mirror,
    'mcp-source templates': async () => (await import('../features/mcp-sources/templates.ts')).templates,
    'mcp-source resolve': async () => (await import('../features/mcp-sources/resolve.ts')).resolve,
    'mcp-source add-uri': async () => (await import('../features/mcp-sources/add-uri.ts')).addUri,
  }),
]

/** All commands that the help, the manual and the shell completions list. */
export const COMMANDS: Commands = new Map(COMMAND_GROUPS.flatMap(({ commands }) => [...commands]))

/** Commands with another name today. They work until the next version. */
const FORMER: Commands = new Map<string, Load>([
  ['release', async () => (await import('./commands/change/decide.ts')).release],
  ['unpin', async () => (await import('./commands/change/decide.ts')).unpin],
])

/** Other names of commands: former ones, and those that other programs use. */
const ALIASES: Readonly<Record<string, string>> = {
  inspect: 'preview',
  serve: 'start',
  'mcp-source preview': 'preview',
  mirror: 'mcp-source mirror',
  templates: 'mcp-source templates',
  resolve: 'mcp-source resolve',
  'add-uri': 'mcp-source add-uri',
}

/** The words that other programs have for a command. They are suggested, not accepted. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  apply: 'reload',
  check: 'doctor',
  config: 'init',
  create: 'new',
  delete: 'remove',
  fetch: 'sync',
  find: 'search',
  freeze: 'lock',
  history: 'log',
  info: 'show',
  install: 'link',
  kill: 'stop',
  lint: 'validate',
  ls: 'list',
  ps: 'status',
  pull: 'sync',
  refresh: 'sync',
  rm: 'remove',
  run: 'start',
  sbom: 'export',
  setup: 'init',
  suspend: 'pause',
  uninstall: 'unlink',
  unpause: 'resume',
  upgrade: 'update',
  up: 'start',
}

/** A group of commands, loaded. */
export interface LoadedGroup {
  readonly heading: string
  readonly commands: readonly Command[]
}

/** Loads all commands for the help. */
export async function loadedGroups(): Promise<readonly LoadedGroup[]> {
  const groups = COMMAND_GROUPS.map(async ({ heading, commands }) => ({ heading, commands: await loaded(commands) }))
  return Promise.all(groups)
}

/** Loads all of these commands. */
export async function loaded(commands: Commands): Promise<readonly Command[]> {
  return Promise.all([...commands.values()].map((load) => load()))
}

/** Returns the command of this name or former name, loaded. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  const current = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name
  const load = current === undefined ? undefined : (COMMANDS.get(current) ?? FORMER.get(current))
  return load?.()
}

/** Returns the verbs of a family, such as `mirror` of `mcp-source`. Empty if there is no such family. */
export function verbsOf(family: string): readonly string[] {
  return [...COMMANDS.keys()].flatMap((name) => (name.startsWith(`${family} `) ? [name.slice(family.length + 1)] : []))
}
