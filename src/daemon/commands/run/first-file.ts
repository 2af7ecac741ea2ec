import { resolve } from 'node:path'
import { shellWord } from '../../../base/text/shell-word.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Context, ExitStatus } from '../../cli/command.ts'
import { Prompt } from '../../cli/prompt.ts'
import { failureIn } from '../../cli/store-reader.ts'
import { ConfigMissingError, searchConfig, userConfigFile } from '../../config/find-config.ts'
import { commentOn, seenText, startingText } from '../../config/init-template.ts'
import type { StartingSource } from '../../config/init-template.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isThere, writeNew } from '../../runtime/new-file.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import {
  failureLines,
  NO_STATE,
  placeNotes,
  probeSource,
  sourceCandidateOf,
  unreadSource,
  withoutSkills,
} from './source-probe.ts'
import type { FoundSource } from './source-probe.ts'

/** The file that the first sources are written to; `undefined` if there is a configuration, or sources are named. */
export async function firstFileOf(context: Context): Promise<string | undefined> {
  const { config } = context.values
  if (config === '') throw new UsageError('--config names no file')
  if (typeof config === 'string') {
    const file = resolve(config)
    return (await isThere(file, 'name another file with --config')) ? undefined : file
  }
  try {
    await configFor(context)
    return undefined
  } catch (error) {
    if (error instanceof ConfigMissingError) return userConfigFile(context.environment)
    throw error
  }
}

/** Writes a configuration with these sources, and prints what it has, and the next steps. */
export async function writeFirst(
  context: Context,
  file: string,
  sources: readonly StartingSource[],
): Promise<ExitStatus> {
  const text = startingText(sources)
  const { parseConfig } = await context.configuration()
  const config = parseConfig(text, file, context.environment, NO_STATE)
  if (Array.isArray(config)) throw new UsageError(`Cannot add: ${config[0]?.message ?? ''}`)
  if (!(await writeNew(file, text))) throw new UsageError(`Cannot write "${file}": it is there already; run this again`)
  await print(context, file, sources)
  return 0
}

/** The sources that a person enters on a terminal. `undefined` if there are none. */
export async function askedSources(context: Context): Promise<readonly FoundSource[] | undefined> {
  const { stdin: input, stderr: output } = context.streams
  if (context.values['mcp'] === true || input.isTTY !== true || output.isTTY !== true || context.json) return undefined
  using questions = new Prompt({ input, output, signal: context.signal })
  questions.tell(
    'Which repositories hold your skills? An https or ssh address, or a path; an empty line when that is all.',
  )
  const found: FoundSource[] = []
  for (;;) {
    const text = await questions.ask(`${found.length + 1}:`)
    if (text === undefined) return found
    const one = await askSource(text, questions, context)
    if (one !== undefined) found.push(one)
  }
}

/** `undefined` if the source is not to be used. */
async function askSource(text: string, questions: Prompt, context: Context): Promise<FoundSource | undefined> {
  const candidate = await sourceCandidateOf(text, context)
  if (typeof candidate === 'string') {
    questions.tell(`  it ${candidate}`)
    return undefined
  }
  if (context.values['offline'] === true) return unreadSource(candidate)
  const look = await probeSource(candidate, context)
  const problem = look instanceof SyncError ? failureIn(look) : withoutSkills(look)
  if (!(look instanceof SyncError) && look.seen !== undefined) questions.tell(`  ${seenText(look.seen)}`)
  if (problem === undefined && !(look instanceof SyncError)) return look
  for (const line of problem === undefined ? [] : failureLines(problem))
    questions.tell(`  ${context.redactor.clean(line)}`)
  const answer = await questions.ask('  Write it all the same? [y/N]')
  if (answer === undefined || !/^y(?:es)?$/i.test(answer)) return undefined
  return look instanceof SyncError ? unreadSource(candidate) : look
}

async function print(context: Context, file: string, sources: readonly StartingSource[]): Promise<void> {
  if (context.json) {
    printJson(context, { config: file, added: sources.map(({ id, place }) => ({ id, ...place })), reloaded: false })
    return
  }
  const isFound = (await searchConfig(context.environment)) === file
  const option = isFound ? '' : ` --config ${shellWord(file)}`
  printLines(context, [
    ...sources.map((source) => printableLine(`${source.id}: ${commentOn(source) ?? 'not fetched'}`)),
    ...sources.flatMap(placeNotes),
    `wrote ${printableLine(file)}`,
    '',
    'Next:',
    `  skillsyncd start${option}              serves it at http://127.0.0.1:8741/, until you stop it`,
    `  skillsyncd link claude-code${option}   puts its skills into the folder of an agent, and keeps them current`,
    `  skillsyncd status${option}             shows what is served, from which commit, and what is wrong`,
  ])
}
