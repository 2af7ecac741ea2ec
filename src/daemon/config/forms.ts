import { closestTo } from '../../base/text/closest.ts'

/** The forms of skills that `default` stands for. */
const DEFAULT_FORMS = [
  'tools',
  'search',
  'paths',
  'prompts',
  'index',
  'contract',
  'page',
  'well-known',
  'metrics',
] as const

/** The forms in which skills can be served, for `serve.forms` and `--form`. */
export const FORMS = [...DEFAULT_FORMS, 'skill-prompts', 'index-templates', 'archives', 'files', 'synthetic'] as const
export type Form = (typeof FORMS)[number]

/** The words of a list of forms. */
export const FORM_WORDS = ['default', ...FORMS, ...DEFAULT_FORMS.map((form) => `-${form}` as const)] as const

/** The forms of which each is a part of others: it needs one of these. */
const NEEDS: Readonly<Record<string, readonly Form[]>> = {
  search: ['tools', 'page'],
  paths: ['tools', 'skill-prompts'],
  'index-templates': ['index'],
}

/** Returns the reason why a value is no word of a list of forms; `undefined` if it is one. */
export function formFault(value: unknown): string | undefined {
  if (FORM_WORDS.some((word) => word === value)) return undefined
  const text = String(value)
  if (text === '') return 'names no form'
  if (text === '-default') return 'takes nothing away: leave `default` out, or take away each form, such as -page'
  if (FORMS.some((form) => text === `-${form}`)) return 'takes away what `default` does not have; leave it out'
  const near = closestTo(text, FORM_WORDS)
  return near === undefined
    ? `must be default, or of ${FORMS.join(', ')}, or one of the default with a minus, such as -page`
    : `is not a form; did you mean \`${near}\`?`
}

/** The forms of a list, in which `default` stands for several, and a minus takes away one of these, and what needs it. */
export function formsIn(words: readonly string[]): ReadonlySet<Form> {
  const named = words.includes('default') ? [...DEFAULT_FORMS, ...words] : words
  const isLeft = (form: Form): boolean => named.includes(form) && !words.includes(`-${form}`)
  return new Set(FORMS.filter((form) => isLeft(form) && (NEEDS[form]?.some(isLeft) ?? true)))
}

/** Returns the reason why a word has no effect in its list; `undefined` if it has one. */
export function listFault(word: string, words: readonly string[]): string | undefined {
  const needed = NEEDS[word]
  if (needed?.every((form) => !formsIn(words).has(form)) === true)
    return `needs ${needed.map((form) => `\`${form}\``).join(' or ')} in the list`
  if (!word.startsWith('-')) return undefined
  if (words.includes(word.slice(1))) return 'takes away what the list names; keep one of the two'
  if (words.includes('default')) return undefined
  return `takes away what \`default\` has; write [default, ${word}], or the list of all forms that you want`
}
