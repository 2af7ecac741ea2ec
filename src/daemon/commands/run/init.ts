import { resolve } from 'node:path'
import { shellWord } from '../../../base/text/shell-word.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { Prompt } from '../../cli/prompt.ts'
import { sourceIdFor, withUniqueIds } from '../../config/command-line-config.ts'
import { CONFIG_NAME, searchConfig, userConfigFile } from '../../config/find-config.ts'
import { commentOn, seenText, startingText } from '../../config/init-template.ts'
import type { StartingSource } from '../../config/init-template.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isThere, writeNew } from '../../runtime/new-file.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { NO_STATE, failureLines, probeSource, sourceCandidateOf, unreadSource } from './init-source.ts'
import type { FoundSource } from './init-source.ts'
import { probeAll } from './probe-all.ts'

export const init: Command = {
  name: 'init',
  summary: 'Write a first configuration for these sources',
  operands: { text: '[URL…]', most: Number.POSITIVE_INFINITY, offers: ['folders'] },
  needsConfiguration: false,
  details: `
  URL is the address of a git repository, owner/repo on GitHub, or the path of a repository or of a plain folder. Each
  is fetched first, to find its default branch and its skills. Without URL, init asks for the addresses on a terminal.

  With --mcp, each URL is the address of another MCP server that publishes skills; it is contacted at the first pull.
  skillsyncd add joins repositories and servers in one file.

  The file has no secret: for a private repository, name the credential in the file under auth.
`,
  examples: [
    'skillsyncd init anthropics/skills',
    'skillsyncd init --mcp https://skills.example.com/mcp',
    'skillsyncd init --here https://git.example.com/team/skills.git',
  ],
  options: {
    config: {
      type: 'string',
      short: 'c',
      value: 'FILE',
      help: 'the file to write; default: ~/.config/skillsyncd/skillsyncd.yaml, which commands find from any folder',
      offers: 'files',
    },
    mcp: { type: 'boolean', help: 'the addresses are those of MCP servers' },
    here: { type: 'boolean', help: 'write ./skillsyncd.yaml, for a repository or a hub' },
    force: { type: 'boolean', help: 'replace an existing file' },
    offline: { type: 'boolean', help: 'write the addresses without fetching anything' },
  },
  async run(context) {
    const { values, operands } = context
    const file = fileOf(context)
    const isForced = values['force'] === true
    if (!isForced && (await isThere(file, 'name another file with --config'))) throw alreadyThere(file)
    const found = operands.length > 0 ? await probeAll(operands, context) : await answers(context)
    if (found === undefined) return 1
    const sources = withUniqueIds(withoutRepetition(found).map((one) => [sourceIdFor(one.place), one])).map(
      ({ id, place: { place, seen } }) => ({
        id,
        place,
        seen,
      }),
    )
    const text = startingText(sources)
    const { parseConfig } = await context.configuration()
    // The text is our own except for the addresses, and each of those was parsed.
    if (Array.isArray(parseConfig(text, file, context.environment, NO_STATE)))
      throw new TypeError('The configuration that was made is none')
    if (!(await writeNew(file, text, isForced))) throw alreadyThere(file)
    await print(context, file, sources)
    return 0
  },
}

function fileOf({ values: { config, here }, environment }: Context): string {
  if (config === '') throw new UsageError('--config names no file')
  if (typeof config !== 'string') return here === true ? resolve(CONFIG_NAME) : userConfigFile(environment)
  if (here === true) throw new UsageError('--here and --config exclude each other')
  return resolve(config)
}

function alreadyThere(file: string): UsageError {
  return new UsageError(
    `Cannot write "${file}": it is there already; skillsyncd add URL adds a source, --force replaces the file, --config FILE names another`,
  )
}

/** Two equal places mean one source. */
function withoutRepetition(found: readonly FoundSource[]): readonly FoundSource[] {
  return [...new Map(found.map((one) => [JSON.stringify(one.place), one])).values()]
}

/** The sources that a person enters on a terminal. `undefined` if there are none. */
async function answers(context: Context): Promise<readonly FoundSource[] | undefined> {
  if (context.values['mcp'] === true)
    throw new UsageError(
      '"init --mcp" wants the address of a server: skillsyncd init --mcp https://skills.example.com/mcp',
    )
  const { stdin: input, stderr: output } = context.streams
  if (input.isTTY !== true || output.isTTY !== true || context.json)
    throw new UsageError(
      '"init" wants the address of a repository: skillsyncd init https://git.example.com/team/skills',
    )
  using questions = new Prompt({ input, output, signal: context.signal })
  questions.tell(
    'Which repositories hold your skills? An https or ssh address, or a path; an empty line when that is all.',
  )
  const found: FoundSource[] = []
  for (;;) {
    const text = await questions.ask(`${found.length + 1}:`)
    if (text === undefined) break
    const one = await askSource(text, questions, context)
    if (one !== undefined) found.push(one)
  }
  if (found.length > 0) return found
  questions.tell('nothing was written')
  return undefined
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
  if (!(look instanceof SyncError)) {
    if (look.seen !== undefined) questions.tell(`  ${seenText(look.seen)}`)
    return look
  }
  for (const line of failureLines(look)) questions.tell(`  ${context.redactor.clean(line)}`)
  const answer = await questions.ask('  Write it all the same? [y/N]')
  return answer !== undefined && /^y(?:es)?$/i.test(answer) ? unreadSource(candidate) : undefined
}

async function print(context: Context, file: string, sources: readonly StartingSource[]): Promise<void> {
  if (context.json) {
    printJson(context, { config: file, sources: sources.map(({ id, place, seen }) => ({ id, ...place, ...seen })) })
    return
  }
  const isFound = (await searchConfig(context.environment)) === file
  const option = isFound ? '' : ` --config ${shellWord(file)}`
  printLines(context, [
    ...sources.map((source) => printableLine(`${source.id}: ${commentOn(source) ?? 'not fetched'}`)),
    `wrote ${printableLine(file)}`,
    '',
    'Next:',
    `  skillsyncd start${option}              serves it at http://127.0.0.1:8741/, until you stop it`,
    `  skillsyncd link claude-code${option}   installs its skills in an agent, and keeps them current`,
    `  skillsyncd status${option}             shows what is served, from which commit, and what is wrong`,
  ])
}
