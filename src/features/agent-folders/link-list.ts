import { countOf } from '../../base/text/plural.ts'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import type { Config } from '../../daemon/config/config.ts'
import { UNKNOWN_HOME, ifHomeIsKnown } from '../../daemon/config/environment.ts'
import { agreeWithDaemon } from '../../daemon/control/requests.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { AGENTS } from './agents.ts'
import type { Agent } from './agents.ts'
import { agentsHere, foldersNow, unlinkedUpstream } from './folder-status.ts'
import type { FolderNow } from './folder-status.ts'
import type { Use } from './link-record.ts'
import { blockageText, folderUseText, leftOutLine } from './link-text.ts'

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
