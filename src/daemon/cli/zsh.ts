import { NO_COMPLETION, familyPattern, firstWords } from './command-model.ts'
import type { Typing } from './command-model.ts'

/** The completion script for zsh, to be sourced or saved as a file `_skillsyncd` in `$fpath`. */
export function zshScript(typings: readonly Typing[]): string {
  const commands = [...firstWords(typings).map(({ command, summary }) => [command, summary] as const), ...PROGRAM]
  return `#compdef skillsyncd
# What can be typed after skillsyncd, for zsh.

_skillsyncd() {
  local current=$words[CURRENT] option=$words[CURRENT-1] command=$words[2] offer='' valued='' word
  local -a options operands offered
  local -i skip=0 count=1 first=3 at
  if ((CURRENT == 2)); then
    offered=(
${commands.map(([word, text]) => `      ${describe(word, text)}`).join('\n')}
    )
    _describe -t commands command offered
    return
  fi
  case $command in
  ${familyPattern(typings)}) if ((CURRENT > 3)); then command+=" $words[3]" first=4; fi ;;
  esac
  if [[ $current == --*=* ]]; then
    option=\${current%%=*}
    compset -P '*='
  fi
  case $command in
${typings.map(commandCase).join('\n')}
  *) return 1 ;;
  esac
  if [[ -z $offer ]]; then
    if [[ $current == -* ]]; then
      _describe -o option options
      return
    fi
    for ((at = first; at < CURRENT; at++)); do
      word=$words[at]
      if ((skip)); then
        skip=0
      elif [[ " $valued " == *" $word "* ]]; then
        skip=1
      elif [[ $word != -* ]]; then
        ((count++))
      fi
    done
    ((count > $#operands)) && count=$#operands
    offer=$operands[count]
  fi
  case $offer in
  ${NO_COMPLETION}) return 1 ;;
  files) _files ;;
  folders) _files -/ ;;
  '='*) compadd -- \${(s: :)offer#=} ;;
  *)
    offered=("\${(@f)$($words[1] --completion $offer -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null </dev/null)}")
    [[ -n $offered ]] && compadd -- $offered
    ;;
  esac
}

if [[ $funcstack[1] == _skillsyncd ]]; then
  _skillsyncd "$@"
else
  compdef _skillsyncd skillsyncd
fi
`
}

const PROGRAM = [
  ['--help', 'every command'],
  ['--version', 'the version of this program'],
] as const

function commandCase({ command, options, valued, operands }: Typing): string {
  const values = valued.map(({ words, offer }) => `    ${words.join(' | ')}) offer=${quote(offer)} ;;`)
  return `  ${quote(command)})
    options=(
${options.map(({ word, help }) => `      ${describe(word, help)}`).join('\n')}
    )
    valued='${valued.flatMap(({ words }) => words).join(' ')}'
    operands=(${operands.map(quote).join(' ')})
    case $option in
${values.join('\n')}
    esac
    ;;`
}

/** The format of `_describe`: a colon separates the word from its text. */
function describe(word: string, text: string): string {
  return quote(`${word}:${text.replaceAll(/[\\:]/g, String.raw`\$&`)}`)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
