import { NO_COMPLETION, familyPattern, firstWords } from './command-model.ts'
import type { Typing } from './command-model.ts'

/** The completion script for bash, 3.2 and later. */
export function bashScript(typings: readonly Typing[]): string {
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
      .join(' ')} help --help --version'
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
    done < <("\${COMP_WORDS[0]}" completion "$offer" -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null </dev/null)
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
