import { parseArgs } from 'node:util'
import { SyncError } from '../../sync/model/sync-error.ts'
import { idsOf } from '../config/config.ts'
import { ifHomeIsKnown } from '../config/environment.ts'
import { ConfigError } from '../config/rules/config-error.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { UsageError } from '../runtime/usage-error.ts'
import { readRows } from '../status/skill-rows.ts'
import { familyPattern, firstWords, NO_COMPLETION, typingsOf } from './command-model.ts'
import type { Typing } from './command-model.ts'
import { configFor, printLines } from './command.ts'
import type { Command, Context } from './command.ts'
import { fishScript } from './fish.ts'
import { CONFIGURING } from './help.ts'
import { zshScript } from './zsh.ts'

/** The completion script for bash, 3.2 and later. */
function bashScript(typings: readonly Typing[]): string {
  return `# What can be typed after skillsyncd, for bash.

_skillsyncd() {
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local options=() valued='' operands=() offer='' word skip=0 count=0 first=2 at
  COMPREPLY=()
  # The sign in --option=value is a word of its own to bash.
  if [[ $current == = ]]; then
    current=''
  elif [[ $option == = ]]; then
    option=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $command in
  ${familyPattern(typings)}) ((COMP_CWORD > 2)) && command+=" \${COMP_WORDS[2]}" first=3 ;;
  esac
  if ((COMP_CWORD == 1)); then
    offer='=${firstWords(typings)
      .map(({ command }) => command)
      .join(' ')} --help --version'
  else
    case $command in
${typings.map(commandCase).join('\n')}
    *) return ;;
    esac
    if [[ -z $offer ]]; then
      if [[ $current == -* ]]; then
        offer="=\${options[*]}"
      else
        for ((at = first; at < COMP_CWORD; at++)); do
          word=\${COMP_WORDS[at]}
          if ((skip)); then
            skip=0
            [[ $word == = ]] && skip=1
          elif [[ " $valued " == *" $word "* ]]; then
            skip=1
          elif [[ $word != -* ]]; then
            ((count++))
          fi
        done
        ((count >= \${#operands[@]})) && count=$((\${#operands[@]} - 1))
        offer=\${operands[count]}
      fi
    fi
  fi
  case $offer in
  ${NO_COMPLETION}) ;;
  files | folders)
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
      if [[ $offer == files ]]; then compgen -f -- "$current"; else compgen -d -- "$current"; fi
    )
    ;;
  # Not compgen -W: it would run what stands in a word as a command.
  '='*) for word in \${offer#=}; do [[ $word == "$current"* ]] && COMPREPLY+=("$word"); done ;;
  *)
    while IFS= read -r word; do
      [[ $word == "$current"* ]] && COMPREPLY+=("$word")
    done < <("\${COMP_WORDS[0]}" --completion "$offer" -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null </dev/null)
    ;;
  esac
}

complete -F _skillsyncd skillsyncd
`
}

function commandCase({ command, options, valued, operands }: Typing): string {
  const values = valued.map(({ words, offer }) => `      ${words.join(' | ')}) offer=${quote(offer)} ;;`)
  return `    ${quote(command)})
      options=(${options.map(({ word }) => word).join(' ')})
      valued='${valued.flatMap(({ words }) => words).join(' ')}'
      operands=(${operands.map(quote).join(' ')})
      case $option in
${values.join('\n')}
      esac
      ;;`
}

/** One quoted word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const SHELLS: Readonly<Record<string, (typings: readonly Typing[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** The lists that the scripts request while the user types. */
const ASKED: Readonly<Record<string, (config: ServedConfig) => Promise<readonly string[]>>> = {
  sources: async (config) => idsOf(config),
  packs: async ({ packs }) => packs.map(({ id }) => id),
  skills: async (config) =>
    (await readRows(config)).flatMap(({ source, path, id, name = '' }) =>
      [id, `${source}/${path === '' ? name : path}`].filter((text) => text !== undefined),
    ),
}

export const completion: Command = {
  name: '--completion',
  operands: {
    text: 'bash | zsh | fish',
    most: Number.POSITIVE_INFINITY,
    offers: [Object.keys(SHELLS), []],
  },
  needsConfiguration: false,
  details: `
  It completes commands, options, sources and skills.

  Have your shell read it when it starts:

    source <(skillsyncd --completion bash)     # in ~/.bashrc
    source <(skillsyncd --completion zsh)      # in ~/.zshrc, after compinit
    skillsyncd --completion fish | source      # in ~/.config/fish/config.fish

  Sources, skills and packs come from the configuration and the state folder that the typed line names, whether a daemon
  runs or not: the scripts call skillsyncd --completion sources|skills|packs -- WORD…
`,
  examples: ['source <(skillsyncd --completion bash)'],
  async run(context) {
    const [what = '', ...line] = context.operands
    const [script, asked] = [entryOf(SHELLS, what), entryOf(ASKED, what)]
    if (asked !== undefined) {
      printLines(context, [...new Set(await answerTo(asked, line, context))].filter(isPlainWord))
      return 0
    }
    if (script === undefined || line.length > 0)
      throw new UsageError('--completion wants bash, zsh or fish; see skillsyncd --completion --help')
    const loading = [...context.commands.values()].map(async ({ summary, load }) => ({
      command: await load(),
      summary,
    }))
    context.streams.stdout.write(script(typingsOf(await Promise.all(loading))))
    return 0
  },
}

function entryOf<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** Errors yield no completions: the command itself reports them later. */
async function answerTo(
  asked: (config: ServedConfig) => Promise<readonly string[]>,
  line: readonly string[],
  context: Context,
): Promise<readonly string[]> {
  try {
    return await asked(await configFor({ ...context, values: configuringIn(line, context) }))
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError || error instanceof SyncError) return []
    throw error
  }
}

/** The options of an incomplete line that name its configuration. The shell has not expanded the line. */
function configuringIn(line: readonly string[], { environment }: Context): Context['values'] {
  const args = line.map((word) => word.replace(/^~(?=\/)/, (tilde) => ifHomeIsKnown(() => environment.home) ?? tilde))
  return parseArgs({ args, options: CONFIGURING, strict: false, allowPositionals: true }).values
}

/**
 * True if the text is one plain word in every shell. A repository chooses the names of its skills, so they are not
 * trusted.
 */
function isPlainWord(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._/@+-]*$/u.test(text)
}
