import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { html, isolateText, visibleText } from '../../../src/serve/page/html.ts'

test('what is put into HTML is text there, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(html`<p title="${text}">${text}</p>`.html.replaceAll(/&#\d+;/g, '')).toMatch(
        /^<p title="[^<>"]*">[^<>]*<\/p>$/,
      )
    }),
  )
})

test('what nobody would see of a text is named by its number, and the rest stands as it is', () => {
  expect(visibleText('a\u200B\u200Cb\u202E')).toBe(
    'a<span class="unseen" title="Invisible character">U+200B U+200C</span>b<span class="unseen" title="Invisible character">U+202E</span>',
  )
  expect(visibleText('\uFEFFx\u0000')).toMatch(/^<span [^>]*>U\+FEFF<\/span>x<span [^>]*>U\+0000<\/span>$/)
  // Characters that are seen, or that others need: an emoji of several people, Persian, a tab.
  for (const text of ['👩‍👩‍👧', 'می‌خواهم', 'a\tb\n', 'é ü 漢字']) expect(visibleText(text)).toBe(text)
  expect(isolateText('<b>').html).toBe('<bdi>&#60;b&#62;</bdi>')
})

test('no character that hides, steers or reorders is left, wherever it stands', () => {
  const odd = fc.constantFrom(...ODD, 'a', '<')
  fc.assert(
    fc.property(fc.array(odd, { maxLength: 40 }), (characters) => {
      const shown = visibleText(characters.join(''))

      expect(Array.from(shown).filter((character) => ODD.has(character))).toEqual([])
    }),
  )
})

const ODD = new Set(['\u202E', '\u2066', '\u200B', '\u{E0041}', '\u00AD', '\uFEFF', '\u0007', '\u2028'])
