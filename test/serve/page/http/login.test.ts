import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { destinationIn } from '../../../../src/serve/page/http/login.ts'

const HUB = 'https://skills.example.com'
const PIECES = [
  'skills/',
  'sources',
  'changes',
  '?',
  '..',
  '%2e%2e',
  '/',
  '//',
  '\\',
  ':',
  'https:',
  '@',
  '.',
  '%',
  '\n',
]

test('whatever is asked for, one who signs in stays on this host, and does not come to a form of the login', () => {
  const words = fc.oneof(fc.constantFrom(...PIECES, 'evil.example', 'javascript:', 'login/start'), fc.string())

  fc.assert(
    fc.property(fc.array(words, { maxLength: 8 }), (pieces) => {
      const to = destinationIn(new URLSearchParams({ to: pieces.join('') }))

      for (const from of ['/login', '/login/callback', '/skills/team/alpha/']) {
        const address = new URL(`${'../'.repeat(from.split('/').length - 2)}${to}`, HUB + from)
        expect(address.origin).toBe(HUB)
      }
      expect(to).not.toMatch(/^login|[\s;"<>\\]/)
    }),
    { numRuns: 2_000 },
  )
})

test('a page of ours is gone on to as it was asked for', () => {
  const pages = ['', 'sources', 'changes?pending=team', 'skills/team/a-b/SKILL.md?as=text', '?q=two+words&sort=name']

  expect(pages.map((to) => destinationIn(new URLSearchParams({ to })))).toEqual(pages)
})
