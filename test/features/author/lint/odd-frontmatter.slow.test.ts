import { expect, test } from 'vitest'
import { ODD_FRONTMATTERS, oddDocument } from '../../../support/content/odd-frontmatters.ts'
import { diagnosticsOf } from './linted.ts'

const LISTINGS = new Set([
  'metadata-not-text',
  'compatibility-invalid',
  'description-padded',
  'field-refused',
  'frontmatter-unquoted',
])

test.each(Object.entries(ODD_FRONTMATTERS))('validate says of %s whether lists leave it out', async (name, odd) => {
  const diagnostics = await diagnosticsOf({ [`${name}/SKILL.md`]: oddDocument(name, odd) })

  const rules = diagnostics.map(({ code }) => code).filter((rule) => LISTINGS.has(rule))
  expect(rules).toEqual(odd.rule === undefined ? [] : [odd.rule])
})
