import { expect, test } from 'vitest'
import { writtenOf } from '../../../../src/features/author/lint/document-positions.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../../../../src/sync/skill/frontmatter.ts'

test('YAML that has too much in it to be read is not parsed for places either', () => {
  const bytes = Buffer.from(`---\nname: a\nlater: [${','.repeat(60_000)}]\n---\n# Body\n`)

  expect(readFrontmatter(bytes, FRONTMATTER_LIMITS)).toMatchObject({ ok: false, rule: 'frontmatter-too-large' })
  const written = writtenOf(bytes, FRONTMATTER_LIMITS)
  expect(written.yaml).toBeUndefined()
  expect(written.text.slice(written.bodyStart)).toBe('# Body\n')
})
