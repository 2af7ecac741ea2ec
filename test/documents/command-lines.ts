/** The arguments of each run of skillsyncd in a script of a shell. */
export function runsIn(script: string): string[][] {
  return commandsIn(script).flatMap((words) => {
    const at = words.findLastIndex((word, index) => isProgram(word) && !NAMING.has(words[index - 1] ?? ''))
    const args = at === -1 ? [] : words.slice(at + 1)
    return args.length > 0 ? [args] : []
  })
}

/** An image of it in a container starts with the arguments too. */
function isProgram(word: string): boolean {
  return /^skillsyncd(?::[\d.]+)?$/.test(word)
}

/** The words after which the name is that of a container, a package or a unit. */
const NAMING: ReadonlySet<string> = new Set(['--name', '-p', '-u', '-t', 'restart', 'edit', 'create'])

/** The words of each simple command: without redirections, substitutions and pipes between them. */
function commandsIn(script: string): string[][] {
  const commands: string[][] = [[]]
  for (const token of tokensOf(script.replaceAll('\\\n', ' '))) {
    if (token.kind === 'word') commands.at(-1)?.push(token.text)
    else commands.push([])
  }
  return commands
}

type Token = { readonly kind: 'word'; readonly text: string } | { readonly kind: 'end' }

function tokensOf(script: string): Token[] {
  const parts = script.matchAll(
    /(?<comment>(?<=^|\s)#[^\n]*)|(?<end>\n|\|\|?|&&|;|>>?|[<$]\(|\))|(?<word>(?:"(?:\\.|[^"])*"|'[^']*'|(?!\$\()[^\s"'|;<>()]|<(?!\())+)/gm,
  )
  return [...parts].flatMap(({ groups }): Token[] => {
    if (groups?.['end'] !== undefined) return [{ kind: 'end' }]
    if (groups?.['word'] === undefined) return []
    return [{ kind: 'word', text: groups['word'].replaceAll(/["']/g, '') }]
  })
}
