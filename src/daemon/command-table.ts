import type { Command, Commands } from './cli/command.ts'
import type { CommandLoaders } from './cli/feature.ts'
import { FEATURE_COMMANDS } from './features.ts'

/** The commands under one heading of the help. */
export interface CommandGroup {
  readonly heading: string
  readonly commands: Commands
}

/** Those of the core. */
const CORE_COMMANDS: CommandLoaders = {
  add: async () => (await import('./commands/run/add.ts')).add,
  remove: async () => (await import('./commands/run/remove.ts')).remove,
  start: async () => (await import('./commands/run/start.ts')).start,
  stop: async () => (await import('./commands/run/stop.ts')).stop,
  status: async () => (await import('./commands/show/status.ts')).status,
  list: async () => (await import('./commands/show/list.ts')).list,
  show: async () => (await import('./commands/show/show.ts')).show,
  why: async () => (await import('./commands/show/why.ts')).why,
  sync: async () => (await import('./commands/change/sync.ts')).sync,
  mcp: async () => (await import('./commands/run/mcp.ts')).mcp,
  lock: async () => (await import('./commands/change/lock.ts')).lock,
  update: async () => (await import('./commands/change/update.ts')).update,
  verify: async () => (await import('./commands/verify/verify.ts')).verify,
  diff: async () => (await import('./commands/change/diff.ts')).diffCommand,
  preview: async () => (await import('./commands/change/preview.ts')).preview,
  approve: async () => (await import('./commands/change/approve.ts')).approve,
  reject: async () => (await import('./commands/change/approve.ts')).reject,
  hold: async () => (await import('./commands/change/decide.ts')).hold,
  release: async () => (await import('./commands/change/decide.ts')).release,
  rollback: async () => (await import('./commands/change/rollback.ts')).rollback,
  disable: async () => (await import('./commands/change/disable.ts')).disable,
  enable: async () => (await import('./commands/change/disable.ts')).enable,
  log: async () => (await import('./commands/change/log.ts')).log,
  instructions: async () => (await import('./commands/show/instructions.ts')).instructions,
  doctor: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  reload: async () => (await import('./commands/run/reload.ts')).reload,
  service: async () => (await import('./commands/run/service.ts')).service,
  'hub token': async () => (await import('./commands/run/token.ts')).token,
  'hub export': async () => (await import('./commands/sbom/export.ts')).exportBill,
  'store backup': async () => (await import('./commands/run/backup.ts')).backupCommand,
  'store restore': async () => (await import('./commands/run/backup.ts')).restoreCommand,
  '--completion': async () => (await import('./cli/completion.ts')).completion,
}

/** The commands, and what the program does by an option of its own. */
export const CALLS: Commands = new Map(Object.entries({ ...CORE_COMMANDS, ...FEATURE_COMMANDS }))

/** `names`: separated by commas. The commands of a feature that is left out are not there. */
function group(heading: string, names: string): CommandGroup {
  const commands = names.split(', ').flatMap((name) => {
    const load = CALLS.get(name)
    return load === undefined ? [] : [[name, load] as const]
  })
  return { heading, commands: new Map(commands) }
}

/** All commands in the order of the help. A name of two words belongs to a family, such as `mcp-source mirror`. */
const COMMAND_GROUPS: readonly CommandGroup[] = [
  group('Everyday', 'add, remove, start, stop, status, list, show, why, sync, link, mcp'),
  group(
    'Pinning and review',
    'lock, update, verify, diff, preview, approve, reject, hold, release, rollback, disable, enable, promote, log',
  ),
  group('For authors', 'skill new, skill validate, skill project, instructions'),
  group(
    'Administration',
    'doctor, explain, reload, service, hub token, hub enroll, hub publish, hub channel, hub witness, hub export, store backup, store restore, store copy, store migrate',
  ),
  group('Other MCP servers', 'mcp-source mirror, mcp-source add'),
]

/** All commands that the help, the manual and the shell completions list. */
export const COMMANDS: Commands = new Map(COMMAND_GROUPS.flatMap(({ commands }) => [...commands]))

/** Other words for a command. They are suggested, not accepted. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  apply: 'reload',
  check: 'doctor',
  completion: '--completion',
  config: 'add',
  create: 'skill new',
  delete: 'remove',
  fetch: 'sync',
  find: 'list',
  freeze: 'lock',
  help: '--help',
  history: 'log',
  info: 'show',
  init: 'add',
  inspect: 'preview',
  install: 'link',
  kill: 'stop',
  lint: 'skill validate',
  ls: 'list',
  marketplace: 'list --plugins SOURCE',
  outdated: 'status --upstream',
  ps: 'status',
  pull: 'sync',
  refresh: 'sync',
  recall: 'disable',
  rm: 'remove',
  run: 'start',
  sbom: 'hub export',
  scan: 'verify --scan',
  search: 'list',
  serve: 'start',
  setup: 'add',
  pause: 'hold',
  pin: 'hold',
  suspend: 'hold',
  uninstall: 'link --remove',
  unlink: 'link --remove',
  resume: 'release',
  unhold: 'release',
  unpause: 'release',
  unpin: 'release',
  upgrade: 'update',
  up: 'start',
  usage: 'list --usage',
  version: '--version',
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

/** Returns the verbs of a family, such as `mirror` of `mcp-source`. Empty if there is no such family. */
export function verbsOf(family: string): readonly string[] {
  return [...COMMANDS.keys()].flatMap((name) => (name.startsWith(`${family} `) ? [name.slice(family.length + 1)] : []))
}
