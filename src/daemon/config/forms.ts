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

/** Returns the reason why a text is no word of a list of forms; `undefined` if it is one. */
export function formFault(text: string): string | undefined {
  if (FORM_WORDS.some((word) => word === text)) return undefined
  const near = closestTo(text, FORM_WORDS)
  return near === undefined
    ? `must be default, or of ${FORMS.join(', ')}, or one of the default with a minus, as in [default, -page]`
    : `is not a form; did you mean \`${near}\`?`
}

/** The forms of a list, in which `default` stands for several, and a minus takes one of these away. */
export function formsIn(words: readonly string[]): ReadonlySet<Form> {
  const named = words.includes('default') ? [...DEFAULT_FORMS, ...words] : words
  return new Set(FORMS.filter((form) => named.includes(form) && !words.includes(`-${form}`)))
}

/** Returns the reason why a word takes nothing away from its list; `undefined` if it does, or is a form. */
export function minusFault(word: string, words: readonly string[]): string | undefined {
  if (!word.startsWith('-') || (words.includes('default') && !words.includes(word.slice(1)))) return undefined
  return `takes away what \`default\` has; write [default, ${word}], or the list of all forms that you want`
}
