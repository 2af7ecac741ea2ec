import { isDiskError } from '../../../sync/store/files/disk-error.ts'
import { expectOwnFolder } from '../../../sync/store/files/folder-owner.ts'
import { AGENTS, cautionsFor, agentFolderOf } from '../../agent-folders/agents.ts'
import { applyPlan, predictPlan } from '../../agent-folders/apply-plan.ts'
import type { Recording } from '../../agent-folders/apply-plan.ts'
import { planOf } from '../../agent-folders/folder-plan.ts'
import { linkedState } from '../../agent-folders/link-context.ts'
import type { LinkedState } from '../../agent-folders/link-context.ts'
import type { Only, Use } from '../../agent-folders/link-record.ts'
import { readLinks } from '../../agent-folders/links-file.ts'
import type { LeftOut } from '../../agent-folders/unlinkable-skills.ts'
import { whyNotUsed } from '../../base/disk-error-text.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { futurePath } from '../../base/resolve-path.ts'
import { isWithin } from '../../base/skill-folders.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon, sourcesOf } from '../../control/requests.ts'
import { theOnly, theOnlyIfAny } from '../../status/named-skill.ts'
import type { SkillReference } from '../../status/named-skill.ts'
import { MODE_OPTIONS, configFor, printJson, printLines } from '../command.ts'
import type { Command, Context } from '../command.ts'
import { withWriter } from '../daemon-client.ts'
import { listLinks } from './link-list.ts'
import { AGENT_OPERANDS, DRY_RUN_OPTION, PROJECT_OPTION, agentsOf, projectOf, recordingOf } from './link-operands.ts'
import { endInJson, exitOf, leftOutLine, linesOf } from './link-text.ts'
import type { FolderEnd } from './link-text.ts'

export const link: Command = {
  name: 'link',
  summary: 'Put what is served into the folders that agents read; without AGENT, what is there',
  operands: AGENT_OPERANDS,
  details: `
  AGENT is ${AGENTS.map(({ id }) => id).join(', ')}.
  Each skill is a link to the version that is served, which the daemon switches. Again: what came since, and what went.
  What is in such a folder already and is not ours is left, and told. So is each skill that has no place in a folder.
`,
  options: {
    project: PROJECT_OPTION,
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
      help: 'only those of this source; may be repeated',
      offers: 'sources',
    },
    copy: { type: 'boolean', help: 'copies in place of links; they stay as they are until this is run again' },
    'dry-run': DRY_RUN_OPTION,
    ...MODE_OPTIONS,
  },
  async run(context) {
    const config = await configFor(context)
    if (context.operands.length === 0) return listLinks(context, config)
    const targets = await targetsOf(context, config)
    // The daemon of another user could not switch the links that root puts into its own folders.
    await expectOwnFolder(config.state, { asReader: false })
    await agreeWithDaemon(config, context.signal)
    const isDry = context.values['dry-run'] === true
    const { ends, leftOut } = isDry
      ? await linkFolder(context, config, targets, undefined)
      : await withWriter(context, config, (ask) => linkFolder(context, config, targets, recordingOf(ask)))
    if (context.json) printJson(context, { dryRun: isDry, folders: ends.map(endInJson), leftOut })
    else printLines(context, [...ends.flatMap(linesOf), ...leftOut.map(leftOutLine)])
    return exitOf(ends)
  },
}

/** A folder that one or more of the named agents read. */
interface Target {
  readonly folder: string
  readonly uses: readonly Use[]
}

/** Each folder once, whatever path leads to it: a link in its path may lead to another agent's folder. */
async function targetsOf(context: Context, config: Config): Promise<readonly Target[]> {
  const project = await projectOf(context)
  const targets = new Map<string, Use[]>()
  for (const agent of agentsOf(context.operands)) {
    const place = agentFolderOf(agent, project, context.environment)
    const folder = await placeOf(place, place)
    expectInside(folder, project)
    await expectApart(folder, config)
    const uses = targets.get(folder) ?? []
    targets.set(folder, [...uses, { agent: agent.id, project }])
  }
  return [...targets].map(([folder, uses]) => ({ folder, uses }))
}

/**
 * The real path. Fails if it cannot be resolved, because a path that is compared with the folder could then lead into
 * it.
 */
async function placeOf(path: string, folder: string): Promise<string> {
  try {
    return await futurePath(path)
  } catch (error) {
    if (!isDiskError(error)) throw error
    const why =
      path === folder
        ? `${whyNotUsed(error)}; mend that, or name another agent`
        : `whether it is apart from "${path}" cannot be told: ${whyNotUsed(error)}; mend that`
    throw new OperatorError('cannot-link', `Cannot link into "${folder}": ${why}`, { cause: error })
  }
}

/** The content of a repository is not trusted: a link in it must not choose a folder outside of it. */
function expectInside(folder: string, project: string | undefined): void {
  if (project === undefined || isWithin(folder, project)) return
  throw new UsageError(`Cannot link into "${folder}": a link leads there from "${project}", which it is not in`)
}

/**
 * In a folder of a source, the links would be found as skills of that source. In the state folder, agents look for no
 * skills.
 */
async function expectApart(folder: string, { state, sources }: Config): Promise<void> {
  const own = await placeOf(state, folder)
  if (isWithin(folder, own) || isWithin(own, folder))
    throw new UsageError(`Cannot link into "${folder}": the state folder is "${state}"; name another --state`)
  for (const { source } of sources) {
    if (source.kind === 'directory' && isWithin(folder, await placeOf(source.path, folder)))
      throw new UsageError(`Cannot link into "${folder}": it is what the source "${source.id}" is made from`)
  }
}

interface Linked {
  readonly ends: readonly FolderEnd[]
  /** The requested skills (all, if none is named) that are put into no folder. */
  readonly leftOut: readonly LeftOut[]
}

/** Without a `recording`, only predicts the result. */
async function linkFolder(
  context: Context,
  config: Config,
  targets: readonly Target[],
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
      recording === undefined ? predictPlan(plan) : await applyPlan({ plan, uses, state, recording }, context.signal)
    ends.push({ folder, uses, copies: plan.copies, done, ofUpstream: state.ofUpstream })
  }
  const links = await readLinks(config.state)
  return {
    ends: ends.map((end) => Object.assign(end, { cautions: cautionsFor(end.uses, end.copies, links) })),
    leftOut: served.leftOut.filter(({ source }) => only === undefined || only.sources.includes(source)),
  }
}

async function servedState(config: Config): Promise<LinkedState> {
  const state = await linkedState(config)
  if (state !== undefined && state.isServing) return state
  throw new OperatorError(
    'nothing-served',
    'Cannot link: nothing is served yet; skillsyncd sync brings the first skills',
  )
}

/** The requested selection in a form that stays valid; `undefined` for all. */
function onlyOf({ values }: Context, state: LinkedState): Only | undefined {
  const [sources, skills] = [textsOf(values['only']), textsOf(values['skill'])]
  if (sources.length === 0 && skills.length === 0) return undefined
  return {
    sources: sources.length === 0 ? [] : sourcesOf(sources, state.config),
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

function textsOf(values: unknown): readonly string[] {
  return Array.isArray(values) ? values.map(String) : []
}
