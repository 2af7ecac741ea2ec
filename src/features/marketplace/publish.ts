import { resolve } from 'node:path'
import { countOf } from '../../base/text/plural.ts'
import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { channelRingNamed } from '../../daemon/cli/ring-option.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import type { PublishingConfig } from './publication-config.ts'
import { publishRequest } from './publish-request.ts'
import type { PublishEnd, ChannelWritten } from './publish-request.ts'

export const publish: Command = {
  name: 'hub publish',
  details: `
  Each push is a new commit of a branch at a git host. Without --git and --to: to all that publish names in
  the configuration. The running daemon pushes, or this process if none runs. A branch that has the served tree already
  is not changed. A push is never forced.

  --to writes what is served, with its signed log, to a folder that any web server can serve, or that is carried to
  a machine without a network. It needs \`channel\` in the configuration.
`,
  examples: [
    'skillsyncd hub publish',
    'skillsyncd hub publish --git https://git.example.com/plugins.git --dry-run',
    'skillsyncd hub publish --to /media/usb/channel',
  ],
  options: {
    to: {
      type: 'string',
      value: 'FOLDER',
      help: 'write the channel to this folder, and push nothing',
      offers: 'folders',
    },
    git: {
      type: 'string',
      value: 'URL',
      help: 'push only to this repository, with the credential of the configuration',
    },
    branch: { type: 'string', value: 'NAME', help: 'with --git: the branch; main if nothing is configured' },
    pack: { type: 'string', value: 'PACK', help: 'with --git or --to: the skills of this pack alone', offers: 'packs' },
    ring: { type: 'string', value: 'RING', help: 'with --to: the content of this ring; default: the last one' },
    'dry-run': { type: 'boolean', help: 'show what would be pushed, and push nothing' },
  },
  async run(context: Context<PublishingConfig & WithFolders>) {
    const { git, to, branch, pack, ring, 'dry-run': dry = false } = context.values
    if (typeof to === 'string') return publishTo(context, to)
    if (git === undefined && (branch !== undefined || pack !== undefined))
      throw new UsageError('--branch goes with --git, and --pack with --git or --to')
    if (ring !== undefined) throw new UsageError('--ring goes with --to')
    const config = await configFor(context)
    const folders = git === undefined && dry !== true ? config.channelFolders : []
    // Without any, the daemon says what is missing.
    const isPushed = git !== undefined || config.publications.length > 0 || folders.length === 0
    const ends = await withWriter(context, config, async (ask) => {
      const asked = { git: textIn(git), branch: textIn(branch), pack: textIn(pack), dry: dry === true }
      const all = isPushed ? [...(await ask(publishRequest, asked))] : []
      for (const folder of folders) all.push(...(await ask(publishRequest, { ...folder, dry: false })))
      return all
    })
    const pushed = ends.flatMap((end) => ('to' in end ? [] : [end]))
    const written = ends.filter((end) => 'to' in end)
    if (context.json) printJson(context, { publications: pushed, ...(written.length > 0 && { channels: written }) })
    else printLines(context, [...pushed.flatMap(linesOf), ...written.map(writtenLine)])
    return pushed.some(({ kind }) => kind === 'failed') ? 1 : 0
  },
}

/** The folders that the channel is written to. */
interface WithFolders {
  readonly channelFolders: readonly {
    readonly to: string
    readonly pack: string | undefined
    readonly ring: string | undefined
  }[]
}

async function publishTo(context: Context, to: string): Promise<ExitStatus> {
  const { git, branch, pack, 'dry-run': dry } = context.values
  if (git !== undefined || branch !== undefined || dry === true)
    throw new UsageError('--to goes with none of --git, --branch and --dry-run')
  const config = await configFor(context)
  const ring = channelRingNamed(context.values, config)
  const folder = resolve(to)
  const asked = { to: folder, pack: textIn(pack), ring, dry: false }
  const written = (await withWriter(context, config, async (ask) => ask(publishRequest, asked))).filter(
    (end) => 'to' in end,
  )
  if (context.json) printJson(context, { channels: written })
  else printLines(context, written.map(writtenLine))
  return 0
}

function writtenLine({ to, entries, objects, isNew }: ChannelWritten): string {
  const what = isNew ? `entry ${entries} is new` : `up to date at entry ${entries}`
  return printableLine(`${to}: ${what}, ${countOf(objects, 'new object')} written`)
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function linesOf(end: Exclude<PublishEnd, ChannelWritten>): readonly string[] {
  const place = printableLine(`${end.url}, branch ${end.branch}`)
  if (end.kind === 'failed')
    return [`${place}: ${end.problem.code}: ${printableLine(end.problem.message)}`, `  ${end.problem.fix}`]
  const commit = end.commit?.slice(0, 12)
  const after = end.parent === undefined ? 'the first commit of the branch' : `after ${end.parent.slice(0, 12)}`
  switch (end.kind) {
    case 'pushed':
      return [`${place}: pushed ${commit}, ${after}`]
    case 'unchanged':
      return [`${place}: nothing to push, ${commit} has what is served`]
    case 'would-push':
      return [`${place}: would push the tree ${end.tree.slice(0, 12)}, ${after}`]
    default:
      return end satisfies never
  }
}
