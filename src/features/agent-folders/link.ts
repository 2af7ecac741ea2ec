import { countOf } from '../../base/text/plural.ts'
import { configFor, MODE_OPTIONS, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import type { PreparedEdit } from '../../daemon/cli/edit-configuration.ts'
import { reloadDaemon } from '../../daemon/cli/edit-configuration.ts'
import { linesOfPull, pullWithProgress } from '../../daemon/cli/pull-results.ts'
import { offerService } from '../../daemon/cli/user-service.ts'
import { idsOf } from '../../daemon/config/config.ts'
import { ifHomeIsKnown, UNKNOWN_HOME } from '../../daemon/config/environment.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { agreeWithDaemon } from '../../daemon/control/running-daemon.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { noneCalled, theOnlyIfAny } from '../../daemon/status/named-skill.ts'
import type { SkillReference } from '../../daemon/status/named-skill.ts'
import { expectOwnFolder } from '../../sync/store/files/folder-owner.ts'
import { AGENTS } from './agents.ts'
import type { Agent } from './agents.ts'
import { applyPlan, predictPlan } from './apply-plan.ts'
import type { Done, Recording } from './apply-plan.ts'
import { cautionsFor, omissionsIn } from './cautions.ts'
import { planOf } from './folder-plan.ts'
import { agentsHere, foldersNow, unlinkedUpstream } from './folder-status.ts'
import type { FolderNow } from './folder-status.ts'
import { hasFile, isNamedInLinks, sandboxText, withKept } from './kept-links.ts'
import type { LinkingConfig } from './link-config.ts'
import { linkedState } from './link-context.ts'
import type { LinkedState } from './link-context.ts'
import {
  AGENT_OPERANDS,
  namesPlaces,
  placesOf,
  PROJECT_OPTION,
  recordingOf,
  textsOf,
  TO_OPTION,
} from './link-operands.ts'
import type { LinkFilter, Use } from './link-record.ts'
import { linkTargetsOf } from './link-target.ts'
import type { LinkPlace, LinkTarget } from './link-target.ts'
import { blockageText, endInJson, exitOf, folderUseText, leftOutLines, linesOfEnds } from './link-text.ts'
import type { FolderEnd } from './link-text.ts'
import { readLinks } from './links-file.ts'
import { removeLinks } from './remove-links.ts'
import type { LeftOut } from './unlinkable-skills.ts'

export const link: Command = {
  name: 'link',
  operands: AGENT_OPERANDS,
  details: `
  Without AGENT, it shows what is installed.

  AGENT is ${AGENTS.map(({ id }) => id).join(', ')}.

  The folders are named under links in the configuration, and the skills are there at once. From then on the daemon
  puts new and renamed skills there and takes removed ones out. Every other byte of the file stays.

  A folder stays as it is, until the next link, with --once, in a project, with a choice of skills, and without a
  configuration file: only the skills that are there are kept at the served version, and copies are not.

  If nothing was fetched yet, the sources are fetched first. Each skill is a link to the served version. A file or
  folder that skillsyncd did not make stays, and is named. So is each skill that cannot be in a folder.
`,
  examples: [
    'skillsyncd link claude-code codex',
    'skillsyncd link codex --project . --only team',
    'skillsyncd link --remove claude-code',
  ],
  options: {
    project: PROJECT_OPTION,
    to: TO_OPTION,
    skill: {
      type: 'string',
      multiple: true,
      value: 'SKILL',
      help: 'only this one: id, URI, SOURCE/PATH, SOURCE/NAME, path or name; may be repeated',
      offers: 'skills',
    },
    only: {
      type: 'string',
      multiple: true,
      value: 'SOURCE',
      help: 'only skills of this source; may be repeated',
      offers: 'sources',
    },
    copy: { type: 'boolean', help: 'install copies, not links' },
    once: { type: 'boolean', help: 'install what is served now, and leave the configuration as it is' },
    remove: { type: 'boolean', help: 'remove what was installed there, and nothing else, and take it out of links' },
    all: {
      type: 'boolean',
      help: "with --remove: every agent, in the user's folders and in every project, and every folder of --to",
    },
    'dry-run': { type: 'boolean', help: 'show what would be done, and do nothing' },
    verbose: { type: 'boolean', help: 'show each skill' },
    ...MODE_OPTIONS,
  },
  async run(context: Context<LinkingConfig>) {
    expectTogether(context)
    const config = await configFor(context)
    if (context.values['remove'] === true) return removeLinks(context, config)
    if (!namesPlaces(context)) return listLinks(context, config)
    const places = await placesOf(context)
    const targets = await linkTargetsOf(places, config)
    // The daemon of another user could not switch the links that root puts into its own folders.
    await expectOwnFolder(config.state, { asReader: false })
    await agreeWithDaemon(config, context.signal)
    const onlyOnce = await whyOnlyOnce(context, config, places)
    // Before anything is put there: a file that cannot be edited is an error.
    const edit =
      onlyOnce === undefined && hasFile(config)
        ? await withKept(places, context.values['copy'] === true, config, context)
        : undefined
    const isDry = context.values['dry-run'] === true
    const { ends, leftOut } = isDry
      ? await linkFolder(context, config, targets, undefined)
      : await withWriter(context, config, async (ask) => {
          await pullIfEmpty(context, config, ask)
          return linkFolder(context, config, targets, recordingOf(ask, config.state))
        })
    const keeping = isDry ? undefined : await keep(context, edit?.config ?? config, { edit, onlyOnce })
    if (context.json) printJson(context, { dryRun: isDry, folders: ends.map(endInJson), leftOut, ...keeping?.json })
    else
      printLines(context, [
        ...linesOfEnds(ends, context.values['verbose'] === true),
        ...leftOutLines(leftOut, context.values['verbose'] === true),
        ...(keeping?.lines ?? []),
      ])
    if (keeping?.needsDaemon === true) await offerService(context, config)
    return exitOf(ends)
  },
}

/** Throws for options of which one has no meaning beside the other. */
function expectTogether({ values }: Context): void {
  const ofPutting = ['once', 'copy', 'skill', 'only'].find((name) => values[name] !== undefined)
  if (values['remove'] === true && ofPutting !== undefined)
    throw new UsageError(`--${ofPutting} and --remove exclude each other`)
  if (values['all'] === true && values['remove'] !== true) throw new UsageError('--all goes with --remove')
}

/** The reason why the folders are not kept current; `undefined` if they are to be. */
async function whyOnlyOnce(
  { values, environment }: Context,
  config: LinkingConfig,
  places: readonly LinkPlace[],
): Promise<string | undefined> {
  if (values['once'] === true) return '--once writes no links'
  if (!hasFile(config)) return 'there is no configuration file to name them in; skillsyncd add URL writes one'
  if (values['project'] !== undefined) return 'links names no folders of projects'
  if (textsOf(values['only']).length + textsOf(values['skill']).length === 0) return undefined
  if (await isNamedInLinks(places, config, environment))
    throw new UsageError(
      'Cannot choose skills for a folder that links names: the daemon puts all there; skillsyncd link --remove first',
    )
  return 'links takes all skills'
}

/** The end of the command: if and how the folders follow from now on. */
interface Keeping {
  readonly lines: readonly string[]
  readonly json: { readonly config: string | null; readonly kept: boolean; readonly reloaded: boolean }
  /** True if no daemon runs that would do it. */
  readonly needsDaemon: boolean
}

/** Writes the change of the configuration, if there is one, and has the daemon apply it. */
async function keep(
  { environment, signal }: Context,
  config: LinkingConfig,
  { edit, onlyOnce }: { readonly edit: PreparedEdit<LinkingConfig> | undefined; readonly onlyOnce: string | undefined },
): Promise<Keeping> {
  const { file = null } = config
  if (onlyOnce !== undefined) {
    const lines = [`Until the next link, no skill is added or removed there: ${onlyOnce}`]
    return { lines, json: { config: file, kept: false, reloaded: false }, needsDaemon: false }
  }
  await edit?.write()
  const { isReloaded, text } = await reloadDaemon(config, 'skillsyncd start runs one', signal)
  const [when, how] = isReloaded ? ['from now on', `, and ${text}`] : ['while a daemon runs', `; ${text}`]
  const sentence = `New, renamed and removed skills follow ${when}: links in ${file} names the folders${how}`
  const closed = await sandboxText(config, environment)
  return {
    lines: [printableLine(sentence), ...(closed === undefined ? [] : [closed])],
    json: { config: file, kept: true, reloaded: isReloaded },
    needsDaemon: !isReloaded,
  }
}

/** Pulls the sources if nothing was ever served: the first command of a new user is often this one. */
async function pullIfEmpty(context: Context, config: LinkingConfig, ask: AskWriter): Promise<void> {
  if (config.mode.offline || (await linkedState(config))?.isServing === true) return
  const { ends } = await pullWithProgress(context, idsOf(config), ask)
  for (const line of ends.flatMap(linesOfPull)) context.streams.stderr.write(`${context.redactor.clean(line)}\n`)
}

interface Linked {
  readonly ends: readonly FolderEnd[]
  /** The requested skills (all, if none is named) that are put into no folder. */
  readonly leftOut: readonly LeftOut[]
}

/** Without a `recording`, only predicts the result. */
async function linkFolder(
  context: Context,
  config: LinkingConfig,
  targets: readonly LinkTarget[],
  recording: Recording | undefined,
): Promise<Linked> {
  const served = await servedState(config)
  const only = onlyOf(context, served)
  const ends: Omit<FolderEnd, 'cautions'>[] = []
  for (const { folder, uses } of targets) {
    // Read again for each folder, because a name that one folder gives to a skill holds in all.
    const state = { ...served, links: await readLinks(config.state) }
    const plan = await planOf({ folder, only, copies: context.values['copy'] === true }, state)
    const done =
      recording === undefined
        ? predictPlan(plan)
        : await applyPlan({ plan, uses, state, recording }, { signal: context.signal })
    ends.push({ folder, uses, copies: plan.copies, done, ofUpstream: state.ofUpstream })
  }
  const links = await readLinks(config.state)
  const ground = { config, environment: context.environment, links }
  return {
    ends: await Promise.all(
      ends.map(async (end) => {
        const there = end.done.flatMap(({ end: is, name, skill }) =>
          skill !== undefined && THERE.has(is) ? [{ name, skill }] : [],
        )
        return Object.assign(end, { cautions: [...(await cautionsFor(end, ground)), ...omissionsIn(end.uses, there)] })
      }),
    ),
    leftOut: served.leftOut.filter(({ source }) => only === undefined || only.sources.includes(source)),
  }
}

/** The ends after which the skill is in the folder. */
const THERE: ReadonlySet<Done['end']> = new Set(['kept', 'linked', 'copied'])

async function servedState(config: LinkingConfig): Promise<LinkedState> {
  const state = await linkedState(config)
  if (state !== undefined && state.isServing) return state
  throw new OperatorError(
    'nothing-served',
    'Cannot link: nothing is served yet; skillsyncd sync brings the first skills',
  )
}

/** The requested selection in a form that stays valid; `undefined` for all. */
function onlyOf({ values }: Context, state: LinkedState): LinkFilter | undefined {
  const [sources, skills] = [textsOf(values['only']), textsOf(values['skill'])]
  if (sources.length === 0 && skills.length === 0) return undefined
  return {
    sources: sources.length === 0 ? [] : sourcesNamed(sources, state.config),
    skills: skills.map((asked) => theOneToLink(state, asked)).map(({ source, path }) => `${source}/${path}`),
  }
}

function theOneToLink({ linkable, offered, leftOut, upstream }: LinkedState, asked: string): SkillReference {
  const ids = new Map(offered.listed.map(({ skill, id }) => [skill, id]))
  const named = linkable.map(({ source, uri, name, skill }): SkillReference => {
    const id = ids.get(skill)
    return { source, uri, name, path: skill.path, ...(id !== undefined && { id }) }
  })
  const found = theOnlyIfAny(named, asked)
  if (found !== undefined) return found
  const others = [...leftOut, ...upstream].map((one) => Object.assign({ uri: undefined }, one))
  const { source, path, why } = theOnlyIfAny(others, asked) ?? noneCalled([...named, ...others], asked)
  throw new OperatorError('cannot-link', `Cannot link "${source}/${path}": ${why}`)
}

/**
 * Prints the known agents, which of them are installed here, and the state of their linked folders compared with the
 * served skills.
 */
async function listLinks(context: Context, config: LinkingConfig): Promise<ExitStatus> {
  await agreeWithDaemon(config, context.signal)
  const folders = await foldersNow(config, context.environment)
  const leftOut = await unlinkedUpstream(config)
  const here = await agentsHere(context.environment)
  const agents = AGENTS.map((agent) => ({
    agent,
    folder: ifHomeIsKnown(() => agent.user(context.environment)) ?? null,
    isHere: here.includes(agent),
    isLinked: folders.some(({ uses }) => uses.some((use) => isOfUser(use, agent))),
  }))
  if (context.json) {
    const shown = agents.map(({ agent: { id, title }, ...rest }) => ({ id, title, ...rest }))
    printJson(context, { agents: shown, folders, leftOut })
    return 0
  }
  const others = agents.filter(({ isLinked }) => !isLinked)
  printLines(context, [
    ...folders.flatMap(linesOfFolder),
    ...others.map(({ agent, folder, isHere }) =>
      printableLine(`${agent.id}: not linked${hereText(agent, isHere)}; ${folder ?? UNKNOWN_HOME}`),
    ),
    ...leftOutLines(leftOut, true),
  ])
  return 0
}

function isOfUser({ agent, project }: Use, { id }: Agent): boolean {
  return agent === id && project === undefined
}

function hereText({ home }: Agent, isHere: boolean): string {
  if (home === undefined) return ''
  return isHere ? ', and on this machine' : ''
}

function linesOfFolder(now: FolderNow): string[] {
  const { folder, uses, copies, current, behind, gone, blockages, command, omitted } = now
  const what = `${countOf(current.length, 'skill')} ${copies ? 'copied' : 'linked'}`
  return [
    `${uses.map(folderUseText).join(', ')}: ${what}; ${folder}`,
    ...(behind.length > 0 ? [`  ${behind.join(', ')}: not there, or older; ${command}`] : []),
    ...(gone.length > 0 ? [`  ${gone.join(', ')}: no longer served; ${command}`] : []),
    ...blockages.map((blockage) => `  ${blockage.name} ${blockageText(blockage)}`),
    ...omitted.map((line) => `  ${line}`),
  ].map(printableLine)
}
