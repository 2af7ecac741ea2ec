import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { skillSpaceOf, valuesIn, variablesOf } from '../../../../../src/serve/mcp/resources/files/skill-template.ts'
import type { OfferedTemplate } from '../../../../../src/serve/mcp/resources/files/skill-template.ts'
import { skillUri } from '../../../../../src/sync/model/uris/skill-uri.ts'

describe('a template', () => {
  test.each([
    ['https://docs/{a}/SKILL.md', 'of the form'],
    ['skill://docs/{a}', 'of the form'],
    ['skill://docs/{a}/skill.md', 'of the form'],
    ['skill://docs/alpha/SKILL.md', 'no variable'],
    ['skill://docs/{a}-{b}/SKILL.md', 'two variables in one segment'],
    ['skill://docs/{a}/{a}/SKILL.md', 'twice'],
    ['skill://docs/{+a}/SKILL.md', 'no other braces'],
    ['skill://docs/{a*}/SKILL.md', 'no other braces'],
    ['skill://docs/{}/SKILL.md', 'no other braces'],
    ['skill://docs/{a}}/SKILL.md', 'no other braces'],
    ['skill://docs/a b/{a}/SKILL.md', 'encoded'],
    ['skill://docs/../{a}/SKILL.md', 'encoded'],
    ['skill://docs//{a}/SKILL.md', 'encoded'],
    ['skill://user@docs/{a}/SKILL.md', 'encoded'],
    ['skill://docs/%{a}/SKILL.md', 'encoded'],
  ])('%s is refused, with the reason', (template, why) => {
    expect(skillSpaceOf(template)).toEqual({ why: expect.stringContaining(why) })
  })

  test('may have a variable in any segment, with text around it', () => {
    const space = spaceOf('skill://{source}/a%20b/v{version}.x/SKILL.md')

    expect(variablesOf(space)).toEqual(['source', 'version'])
    expect(valuesIn(space, 'skill://docs/a%20b/v1%202.x/SKILL.md')).toEqual(
      new Map([
        ['source', 'docs'],
        ['version', '1 2'],
      ]),
    )
    expect(valuesIn(space, 'skill://docs/a%20b/v.x/SKILL.md')).toBeUndefined()
    expect(valuesIn(space, 'skill://docs/a%20b/v1.x/y/SKILL.md')).toBeUndefined()
    expect(valuesIn(space, 'skill://docs/a/v1.x/SKILL.md')).toBeUndefined()
  })
})

test('whatever values a template is expanded with, they are read from the URI again', () => {
  const space = spaceOf('skill://docs/{team}/v{version}/{product}-skill/SKILL.md')
  const value = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }).filter((text) => !/[/\\\0]/.test(text))

  fc.assert(
    fc.property(value, value, value, (team, version, product) => {
      const uri = skillUri(['docs', team, `v${version}`, `${product}-skill`, 'SKILL.md'])
      expect(valuesIn(space, uri)).toEqual(new Map(Object.entries({ team, version, product })))
    }),
  )
})

function spaceOf(template: string): OfferedTemplate {
  const space = skillSpaceOf(template)
  if ('why' in space) throw new Error(space.why)
  return space
}
