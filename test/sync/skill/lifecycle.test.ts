import { expect, test } from 'vitest'
import { deprecationText, lifecycleFaults, lifecycleOf, listedDescription } from '../../../src/sync/skill/lifecycle.ts'

const ALL = { deprecated: 'the API is gone', 'replaced-by': 'new-forms', owner: 'docs team', depends_on: 'a, b  a' }

test('the texts of metadata give the lifecycle, each dependency once', () => {
  const lifecycle = lifecycleOf({ frontmatter: { metadata: ALL } })

  expect(lifecycle).toEqual({
    deprecated: 'the API is gone',
    replacedBy: 'new-forms',
    owner: 'docs team',
    dependsOn: ['a', 'b'],
  })
  expect(lifecycleFaults({ metadata: ALL })).toEqual([])
})

test('a description begins with the deprecation, and is itself without one', () => {
  const deprecated = listedDescription('Fills forms.', lifecycleOf({ frontmatter: { metadata: ALL } }))

  expect(deprecated).toBe('[Deprecated; use new-forms instead: the API is gone] Fills forms.')
  expect(listedDescription('Fills forms.', { owner: 'x' })).toBe('Fills forms.')
  expect(deprecationText({ deprecated: true })).toBe('Deprecated')
})

test('a value that is invalid is left out with a fault, and the others stay', () => {
  const metadata = { deprecated: false, 'replaced-by': 'no name', owner: null, depends_on: 'a B' }

  expect(lifecycleOf({ frontmatter: { metadata } })).toEqual({ dependsOn: ['a'] })
  expect(lifecycleFaults({ metadata }).map(({ keys }) => keys[1])).toEqual([
    'deprecated',
    'replaced-by',
    'owner',
    'depends_on',
  ])
})

test('a text is on one line, bounded and without invisible characters', () => {
  const metadata = { deprecated: `one\n\u202Etwo ${'x'.repeat(60_000)}`, owner: 'a\u0000b' }

  const { deprecated, owner } = lifecycleOf({ frontmatter: { metadata } })

  expect(deprecated).toHaveLength(300)
  expect(deprecated).toMatch(/^one twox? ?x+…$/)
  expect(owner).toBe('a b')
})

test.each([undefined, {}, { metadata: 'text' }, { metadata: ['deprecated'] }, { metadata: {} }])(
  'a frontmatter without a mapping of texts declares nothing: %j',
  (frontmatter) => {
    expect(lifecycleOf({ frontmatter })).toEqual({})
  },
)
