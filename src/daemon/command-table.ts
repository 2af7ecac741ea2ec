import type { Commands } from './cli/command.ts'
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
}

const LOADERS: CommandLoaders = { ...CORE_COMMANDS, ...FEATURE_COMMANDS }

/** The commands of a feature that is left out are not there. */
function group(heading: string, summaries: Readonly<Record<string, string>>): CommandGroup {
  const commands = Object.entries(summaries).flatMap(([name, summary]) => {
    const load = LOADERS[name]
    return load === undefined ? [] : [[name, { summary, load }] as const]
  })
  return { heading, commands: new Map(commands) }
}

/** All commands in the order of the help. A name of two words belongs to a family, such as `mcp-source mirror`. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  group('Everyday', {
    add: 'Add sources to the configuration, or write the first',
    remove: 'Remove sources from the configuration',
    start: 'Run the daemon: pull on schedule, and serve over HTTP',
    stop: 'Stop the running daemon',
    status: 'Show what is served, and what is wrong',
    list: 'List every skill and its state, or search them',
    show: 'Show a skill: its commit, files, digests and findings',
    why: 'Explain why a skill is served, or is not',
    sync: 'Fetch sources now, and serve what they have',
    link: 'Keep the served skills in the folders of agents',
    mcp: 'Serve one MCP client over stdio',
  }),
  group('Pinning and review', {
    lock: 'Pin the served commits in skills.lock',
    update: 'Move the lock to what upstream has now',
    verify: 'Check the store against the lock and the digests',
    diff: 'Compare two states, skill by skill',
    preview: 'Show a file of a skill, approved or not',
    approve: 'Approve a revision or skills that wait',
    reject: 'Skip the revision that waits for a decision',
    hold: 'Keep a source or a ring where it is',
    release: 'Let a held source or ring take new commits again',
    rollback: 'Serve an earlier generation or commit again',
    disable: 'Take a skill out of service at once',
    enable: 'Serve a disabled skill again',
    promote: 'Let a ring take now what the ring before it serves',
    log: 'Show what changed, what was decided, by whom, and why',
  }),
  group('For authors', {
    'skill new': 'Write the skeleton of a skill',
    'skill validate': 'Check skills: each fault, its line and its fix',
    'skill project': 'Convert a skill to standard frontmatter',
    instructions: 'Print the guide for agents, for AGENTS.md',
  }),
  group('Administration', {
    doctor: 'Check what could keep the daemon from working',
    explain: 'Explain a code: its meaning, effect and fix',
    reload: 'Apply a changed configuration to the running daemon',
    service: 'Run the daemon in the background, by systemd or launchd',
    'hub token': 'Add, list, renew and revoke the tokens of HTTP clients',
    'hub enroll': 'Give agents the plugin marketplace',
    'hub publish': 'Push the plugin marketplace, or write the channel',
    'hub channel': 'Make a key of the channel, or print its public keys',
    'hub witness': 'Run a witness, which cosigns the logs of hubs',
    'hub export': 'Write an SBOM, or a proof of what was served',
    'store backup': 'Copy skills, history and decisions into one file',
    'store restore': 'Restore the state folder from a backup',
    'store copy': 'Copy a stopped hub into its database, or back',
    'store migrate': 'Bring the database of a hub to this version',
  }),
  group('Other MCP servers', {
    'mcp-source mirror': 'Fetch all files of a skill now, and check them',
    'mcp-source add': 'Add a skill that a server does not list',
  }),
]

/** All commands that the help, the manual and the shell completions list. */
export const COMMANDS: Commands = new Map(COMMAND_GROUPS.flatMap(({ commands }) => Array.from(commands)))

/** The commands, and what the program does by an option of its own. */
export const CALLS: Commands = new Map([
  ...COMMANDS,
  [
    '--completion',
    {
      summary: 'Print a script for shell completion',
      load: async () => (await import('./cli/completion.ts')).completion,
    },
  ],
])

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

/** Returns the verbs of a family, such as `mirror` of `mcp-source`. Empty if there is no such family. */
export function verbsOf(family: string): readonly string[] {
  return [...COMMANDS.keys()].flatMap((name) => (name.startsWith(`${family} `) ? [name.slice(family.length + 1)] : []))
}
