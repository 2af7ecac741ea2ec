import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { writtenOf } from '../../../../src/features/author/lint/document-positions.ts'
import { Lines } from '../../../../src/features/author/lint/lines.ts'
import type { Authored } from '../../../../src/features/author/lint/lint-input.ts'
import { judge } from '../../../../src/features/author/lint/lint-skill.ts'
import { lintCodes, describeCode } from '../../../../src/features/author/lint/rule-texts.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../../../../src/sync/skill/frontmatter.ts'
import { diagnosticAbout } from '../../../../src/sync/skill/skill-diagnostic.ts'
import type { SkillDiagnostic, SkillCode } from '../../../../src/sync/skill/skill-diagnostic.ts'
import { diagnosticsOf } from './linted.ts'

/** Pieces that YAML is made of, and what breaks it. */
const piece = fc.constantFrom(
  'name: a',
  'description: Use it',
  'description: ',
  'metadata:',
  '  a: 1',
  '\tb: x',
  'x-personal-mcp:',
  '  id: a',
  '  version: 1.0',
  '  references: {api: {path: ../x}}',
  'allowed-tools: [a, b]',
  '- 2024-01-01',
  '? [a, b] : {c: *d}',
  '&d !!str 010',
  '<<: {a: b}',
  '"a\\ud800": .nan',
  'x: |\n  yes\n  ---',
  '%YAML 1.1',
  '...',
  '---',
  '{'.repeat(50),
  '[[[[]]]',
  '- - - - x',
  'a: # b',
  '\u{FEFF}',
  '\u{202E}',
  '\u0000',
  '\r\n',
  ': :',
  "'",
  '"',
)
const line = fc.oneof({ weight: 4, arbitrary: piece }, fc.string({ unit: 'binary', maxLength: 20 }))
const yaml = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'))
const body = fc.array(fc.oneof(piece, fc.constantFrom('[a](../b)', '![x](y%zz)', '```', '<!-- ', '    code')), {
  maxLength: 6,
})
const document = fc.oneof(
  fc.tuple(yaml, body).map(([yaml, body]) => Buffer.from(`---\n${yaml}\n---\n${body.join('\n')}`)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
)

const anyFinding: fc.Arbitrary<SkillDiagnostic> = fc
  .tuple(fc.constantFrom(...lintCodes()), fc.string({ unit: 'binary', maxLength: 30 }))
  .map(([rule, text]) => {
    const finding = { rule: rule as SkillCode, path: 'a', message: `x-personal-mcp.${text}: ${text}` }
    return diagnosticAbout({ kind: 'field', keys: ['x-personal-mcp', text] }, finding)
  })

test('whatever the frontmatter is, nothing is thrown, and what is found lies in the file', () => {
  fc.assert(
    fc.property(document, fc.array(anyFinding, { maxLength: 4 }), fc.boolean(), (bytes, findings, contract) => {
      const written = writtenOf(bytes, FRONTMATTER_LIMITS)
      const skill = authoredOf(bytes)

      const diagnostics = judge(skill, findings, { level: 'skills-ref', contract })

      const lines = new Lines(written?.text ?? '')
      const texts = (written?.text ?? '').split('\n')
      for (const { code, place, message } of diagnostics) {
        expect(describeCode(code)).toBeDefined()
        expect(message).not.toBe('')
        expect(place.line).toBeGreaterThanOrEqual(1)
        expect(place.line).toBeLessThanOrEqual(Math.max(lines.count + 1, 1))
        expect(place.column).toBeGreaterThanOrEqual(1)
        expect(place.column).toBeLessThanOrEqual((texts[place.line - 1] ?? '').length + 1)
      }
    }),
    { numRuns: 3_000 },
  )
})

test('whatever a SKILL.md holds, a folder with it is validated', async () => {
  await fc.assert(
    fc.asyncProperty(document, fc.boolean(), async (bytes, contract) => {
      const diagnostics = await diagnosticsOf({ 'a/SKILL.md': bytes }, { contract, level: 'skills-ref' })

      expect(Array.isArray(diagnostics)).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test('a frontmatter at the limit, however it is nested, is judged', () => {
  for (const nest of ['[', '{', '- ', '? ', 'a: [', '"', '&a ', '*a ', '!', '\t', '#', '<<: ', ': ', '|\n', '\n']) {
    const bytes = Buffer.from(`---\n${nest.repeat(60_000 / nest.length)}\n---\n`)

    expect(() => judge(authoredOf(bytes), [], { level: 'skills-ref', contract: true })).not.toThrow()
  }
})

function authoredOf(bytes: Uint8Array): Authored {
  const document = writtenOf(bytes, FRONTMATTER_LIMITS)
  const reading = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  const file = { path: 'SKILL.md', executable: false, blob: 'b'.repeat(64) as ObjectId, size: bytes.length, sha256: '' }
  return {
    path: 'a',
    folder: undefined,
    documentName: 'SKILL.md',
    document,
    frontmatter: reading.ok ? reading.frontmatter : undefined,
    files: [file],
    ownFiles: [file],
    texts: document === undefined ? new Map() : new Map([['SKILL.md', document.text]]),
  }
}
