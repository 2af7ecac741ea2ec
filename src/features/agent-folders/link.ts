import { countOf } from '../../base/text/plural.ts'
import { configFor, MODE_OPTIONS, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { linesOfPull, pullWithProgress } from '../../daemon/cli/pull-results.ts'
import { idsOf } from '../../daemon/config/config.ts'
import { ifHomeIsKnown, UNKNOWN_HOME } from '../../daemon/config/environment.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { agreeWithDaemon } from '../../daemon/control/running-daemon.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { theOnly, theOnlyIfAny } from '../../daemon/status/named-skill.ts'
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
import type { LinkingConfig } from './link-config.ts'
import { linkedState } from './link-context.ts'
import type { LinkedState } from './link-context.ts'
import {
  AGENT_OPERANDS,
  DRY_RUN_OPTION,
  namesPlaces,
  placesOf,
  PROJECT_OPTION,
  recordingOf,
  textsOf,
  TO_OPTION,
} from './link-operands.ts'
import type { LinkFilter, Use } from './link-record.ts'
import { linkTargetsOf } from './link-target.ts'
import type { LinkTarget } from './link-target.ts'
import { blockageText, endInJson, exitOf, folderUseText, leftOutLine, linesOf } from './link-text.ts'
import type { FolderEnd } from './link-text.ts'
import { readLinks } from './links-file.ts'
import type { LeftOut } from './unlinkable-skills.ts'

export const link: Command = {
  name: 'link',
  summary: 'Install the served skills in the folders of agents',
  operands: AGENT_OPERANDS,
  details: `
  Without AGENT, it shows what is installed.

  AGENT is ${AGENTS.map(({ id }) => id).join(', ')}.

  If nothing was fetched yet, the sources are fetched first. Each skill is a link to the served version, which the
  daemon keeps current. Run it again for skills that were added or removed since, or name the folder under links in
  the configuration. A file or folder that skillsyncd did not make stays, and is named. So is each skill that cannot
  be in a folder.
`,
  examples: ['skillsyncd link claude-code', 'skillsyncd link codex --project . --only team'],
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
    copy: {
      type: 'boolean',
      help: 'install copies, not links; run link again to renew them, or use links in the configuration',
    },
    'dry-run': DRY_RUN_OPTION,
    ...MODE_OPTIONS,
  },
  async run(context: Context<LinkingConfig>) {
    const config = await configFor(context)
    if (!namesPlaces(context)) return listLinks(context, config)
    const targets = await linkTargetsOf(await placesOf(context), config)
    // The daemon of another user could not switch the links that root puts into its own folders.
    await expectOwnFolder(config.state, { asReader: false })
    await agreeWithDaemon(config, context.signal)
    const isDry = context.values['dry-run'] === true
    const { ends, leftOut } = isDry
      ? await linkFolder(context, config, targets, undefined)
      : await withWriter(context, config, async (ask) => {
          await pullIfEmpty(context, config, ask)
          return linkFolder(context, config, targets, recordingOf(ask, config.state))
        })
    if (context.json) printJson(context, { dryRun: isDry, folders: ends.map(endInJson), leftOut })
    else printLines(context, [...ends.flatMap(linesOf), ...leftOut.map(leftOutLine)])
    return exitOf(ends)
  },
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
  const { source, path, why } = theOnly(
    [...leftOut, ...upstream].map((one) => Object.assign({ uri: undefined }, one)),
    asked,
  )
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
    ...leftOut.map(leftOutLine),
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
