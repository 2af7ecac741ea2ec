import { NO_COMPLETION, familyPattern, firstWords } from './command-model.ts'
import type { Typing } from './command-model.ts'

/** The completion script for fish. */
export function fishScript(typings: readonly Typing[]): string {
  return `# What can be typed after skillsyncd, for fish.

function __skillsyncd
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l option $words[-1]
    set -l prefix ''
    set -l offer ''
    set -l options
    set -l valued
    set -l operands
    if test (count $words) -lt 2
        printf '%s\\t%s\\n' ${firstWords(typings)
          .map(({ command, summary }) => `${command} ${quote(summary)}`)
          .join(' \\\n            ')} \\
            --help 'every command' --version 'the version of this program'
        return
    end
    if string match -qr -- '^--[a-z-]+=' $current
        set option (string replace -r -- '=.*' '' $current)
        set prefix "$option="
    end
    set -l command $words[2]
    set -l first 3
    switch $command
        case ${familyPattern(typings).replaceAll(' | ', ' ')}
            if test (count $words) -gt 2
                set command "$command $words[3]"
                set first 4
            end
    end
    switch $command
${typings.map(commandCase).join('\n')}
        case '*'
            return
    end
    if test -z "$offer"
        if string match -q -- '-*' $current
            printf '%s\\t%s\\n' $options
            return
        end
        set -l skip 0
        set -l position 1
        for word in $words[$first..-1]
            if test $skip = 1
                set skip 0
            else if contains -- $word $valued
                set skip 1
            else if not string match -q -- '-*' $word
                set position (math $position + 1)
            end
        end
        test $position -gt (count $operands); and set position (count $operands)
        set offer $operands[$position]
    end
    begin
        switch $offer
            case ${NO_COMPLETION}
            case files
                __fish_complete_path (string replace -- "$prefix" '' $current)
            case folders
                __fish_complete_directories (string replace -- "$prefix" '' $current) ''
            case '=*'
                string split ' ' -- (string sub -s 2 -- $offer)
            case '*'
                $words[1] --completion $offer -- $words[2..-1] 2>/dev/null </dev/null
        end
    end | string replace -r -- '^' $prefix
end

complete -c skillsyncd -f -a '(__skillsyncd)'
`
}

function commandCase({ command, options, valued, operands }: Typing): string {
  const values = valued.map(
    ({ words, offer }) => `                case ${words.join(' ')}\n                    set offer ${quote(offer)}`,
  )
  return `        case ${quote(command)}
            set options ${options.map(({ word, help }) => `${word} ${quote(help)}`).join(' \\\n                ')}
            set valued ${valued.flatMap(({ words }) => words).join(' ')}
            set operands ${operands.map(quote).join(' ')}
            switch $option
${values.join('\n')}
            end`
}

/** In fish quotes a backslash escapes a quote or another backslash. */
function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`
}
