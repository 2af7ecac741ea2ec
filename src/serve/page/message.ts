import { shortCommit } from './format.ts'
import { html, visible } from './html.ts'
import type { Html } from './html.ts'

/**
 * Renders a message or a fix: its commands as code, and ids beside them short. `sources`: the ids of the sources, which
 * are words like others.
 */
export function messageHtml(text: string, sources: ReadonlySet<string>): Html {
  const parts: Html[] = []
  let rest = text
  for (let at = rest.search(CODE); at !== -1; at = rest.search(CODE)) {
    const code = rest[at] === '`' ? (/^`[^`]*`/.exec(rest.slice(at))?.[0] ?? '`') : commandAt(rest.slice(at), sources)
    parts.push(proseHtml(rest.slice(0, at)), html`<code>${visible(code.replaceAll('`', ''))}</code>`)
    rest = rest.slice(at + code.length)
  }
  return html`${parts}${proseHtml(rest)}`
}

const CODE =
  /`[^`]+`|\bskillsyncd (?=(?:add|approve|diff|disable|doctor|enable|explain|hold|hub|instructions|link|list|lock|log|mcp|mcp-source|preview|promote|reject|release|reload|remove|rollback|service|show|skill|start|status|stop|store|sync|update|verify|why)\b)/

function proseHtml(text: string): Html {
  const parts = text.split(/\b([0-9a-f]{40}(?:[0-9a-f]{24})?)\b/)
  return html`${parts.map((part, index) => (index % 2 === 0 ? visible(part) : shortCommit(part)))}`
}

/** The command at the start of a text: its verb, and the words after it that can be no words of a sentence. */
function commandAt(text: string, sources: ReadonlySet<string>): string {
  let command = VERB.exec(text)?.[0] ?? 'skillsyncd'
  for (;;) {
    const word = WORD.exec(text.slice(command.length))?.[0]
    if (word === undefined || !(OPERAND.test(word) || sources.has(word.slice(1)))) return command
    command += word
  }
}

const VERB = /^skillsyncd (?:hub (?:token|channel|witness) |(?:hub|store|skill|mcp-source) )?[a-z-]+/
/** A quoted word of the shell, or one that no punctuation ends. */
const WORD = /^ (?:'[^']*'|[^\s,;`"']*[^\s,;`"'.:)])/
const OPERAND = /^ (?:served$|upstream$|'|.*[A-Z0-9/:_.]|--?[a-z])/
