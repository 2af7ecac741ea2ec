import { expect, test } from 'vitest'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { servingOf } from '../../../../src/daemon/status/page/mcp-serving.ts'
import { findResource, servedAmong } from '../../../../src/serve/mcp/resources/find-resource.ts'
import type { Forms } from '../../../../src/serve/mcp/resources/forms.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { Views } from '../../../../src/serve/views.ts'
import { catalogOfWorld, readWorld } from '../../../support/content/contract-world.ts'

const INDEX = 'resource://catalog/skills_index'
const WORLD = { team: { docs: { 'old.md': 'old' } }, more: { docs: { 'new.md': 'new' } } }

test.each([
  ['the first', ['docs: docs'], [], ['resource://docs/old.md']],
  ['the second', [], ['docs: docs'], ['resource://docs/new.md']],
  ['none', ['contract: true'], [], [INDEX]],
  [
    'one beside another that is held to the contract',
    ['contract: true'],
    ['docs: docs'],
    [INDEX, 'resource://docs/new.md'],
  ],
])('the configuration says whose docs are served, whoever has some of an earlier time: %s', (_, team, more, uris) => {
  expect(servedBy(formsOf(team, more))).toEqual(uris)
})

test.each([
  ['contract: offer', []],
  ['contract: false', ['contract: false']],
])('where no skill has a block and none has docs there is no family: %s', (_, lines) => {
  const forms = formsOf(lines, lines)
  const catalog = catalogOfWorld(WORLD)

  expect(servedBy(forms)).toEqual([])
  expect(findResource(catalog, forms, INDEX)).toMatchObject({
    why: expect.stringContaining('valid x-personal-mcp block'),
  })
  expect(findResource(catalog, forms, 'http://x')).not.toMatchObject({ why: expect.stringContaining('resource') })
  expect(forms.families.flatMap((family) => family.templates(catalog)).map(({ listed }) => listed.uriTemplate)).toEqual(
    expect.not.arrayContaining([expect.stringContaining('resource://')]),
  )
})

test('without a key a skill with a block is at resource://, and contract: false on all sources switches that off', () => {
  const world = { team: { skills: [{ path: 'pdf', id: 'pdf' }] } }
  const uri = 'resource://skills/pdf/document'
  const [offered, off] = [formsOf([], ['contract: false']), formsOf(['contract: false'], ['contract: false'])]

  expect(servedAmong(catalogOfWorld(world), offered, [INDEX, uri]).size).toBe(2)
  expect(servedAmong(catalogOfWorld(world), off, [INDEX, uri]).size).toBe(0)
  expect(offered.digest).toBe(off.digest)
})

test.each([
  ['forms: [default, -contract]', false],
  ['forms: [default]', true],
  ['', true],
])('the family is served as serve.forms says, and without a word: { %s }', (line, isServed) => {
  const forms = formsOf(['contract: true'], ['docs: docs'], [`serve: { ${line} }`])
  const without = formsOf(['contract: true'], ['docs: docs'], ['serve: { forms: [default, -contract] }'])

  expect(servedBy(forms).includes(INDEX)).toBe(isServed)
  expect(forms.digest === without.digest).toBe(!isServed)
})

test('other docs are another form: whoever waits for a document is told after a restart, and no cursor leads across', () => {
  const digests = [
    formsOf(['docs: docs'], []),
    formsOf([], ['docs: docs']),
    formsOf(['docs: other'], []),
    formsOf([], []),
  ].map(({ digest }) => digest)

  expect(new Set(digests).size).toBe(4)
})

/** Of the URIs that the family can have at all, those that are served. */
function servedBy(forms: Forms): readonly string[] {
  const catalog = catalogOfWorld(WORLD)
  const uris = forms.families.flatMap((family) => family.configurableUris([catalog]))
  return [
    ...servedAmong(
      catalog,
      forms,
      uris.filter((uri) => uri.startsWith('resource://')),
    ).keys(),
  ]
}

/** What is offered of two sources with these lines, and lines of the top level. */
function formsOf(team: readonly string[], more: readonly string[], rest: readonly string[] = []): Forms {
  const sourceOf = (id: string, lines: readonly string[]): string =>
    `  - { ${[`id: ${id}`, `url: https://git.example.com/${id}.git`, ...lines].join(', ')} }`
  const text = ['sources:', sourceOf('team', team), sourceOf('more', more), ...rest].join('\n')
  const config = parseConfig(text, 'skillsyncd.yaml', environmentOf({}, '/home/ada'))
  if (Array.isArray(config)) throw new Error(config.map(({ message }) => message).join('\n'))
  const host = { look: async () => expect.unreachable('No tool is called') }
  return servingOf({ config, reading: { read: readWorld }, host, views: new Views(new Registry(), () => 0) }).forms
}
