import { countOf } from '../../../base/text/plural.ts'
import { agentsHere, foldersNow, linkCommandOf, unlinkedUpstream } from '../../agent-folders/folder-status.ts'
import type { FolderNow } from '../../agent-folders/folder-status.ts'
import type { Use } from '../../agent-folders/link-record.ts'
import { AGENTS } from '../../agents/agents.ts'
import type { Agent } from '../../agents/agents.ts'
import { printableLine } from '../../base/log-line.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/requests.ts'
import { printJson, printLines } from '../command.ts'
import type { Context, ExitStatus } from '../command.ts'
import { folderUseText, leftOutLine } from './link-text.ts'

/**
 * Prints the known agents, which of them are installed here, and the state of their linked folders compared with the
 * served skills.
 */
export async function listLinks(context: Context, config: Config): Promise<ExitStatus> {
  await agreeWithDaemon(config, context.signal)
  const folders = await foldersNow(config, context.environment)
  const leftOut = await unlinkedUpstream(config)
  const here = await agentsHere(context.environment)
  const agents = AGENTS.map((agent) => ({
    agent,
    folder: agent.user(context.environment),
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
      printableLine(`${agent.id}: not linked${hereText(agent, isHere)}; ${folder}`),
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
  const { folder, uses, copies, current, behind, gone, blocked, omitted } = now
  const what = `${countOf(current.length, 'skill')} ${copies ? 'copied' : 'linked'}`
  const again = linkCommandOf(now)
  return [
    `${uses.map(folderUseText).join(', ')}: ${what}; ${folder}`,
    ...(behind.length > 0 ? [`  ${behind.join(', ')}: not there, or older; ${again}`] : []),
    ...(gone.length > 0 ? [`  ${gone.join(', ')}: no longer served; ${again}`] : []),
    ...(blocked.length > 0 ? [`  ${blocked.join(', ')}: blocked by something else; ${again} shows by what`] : []),
    ...omitted.map((line) => `  ${line}`),
  ].map(printableLine)
}
