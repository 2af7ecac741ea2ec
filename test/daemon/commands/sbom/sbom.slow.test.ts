import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import * as fc from 'fast-check'
import { PackageURL } from 'packageurl-js'
import { expect, test } from 'vitest'
import { addressWithoutSecrets, billOf, purlOf, uuidOf } from '../../../../src/daemon/commands/sbom/bill.ts'
import { cycloneDxOf } from '../../../../src/daemon/commands/sbom/cyclonedx.ts'
import { licenseOf } from '../../../../src/daemon/commands/sbom/license.ts'
import { spdxOf } from '../../../../src/daemon/commands/sbom/spdx.ts'
import type { Generation } from '../../../../src/sync/model/generation.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { numbered, snapshotOf } from '../../../sync/store/samples.ts'
import { SPDX_2_3 } from './spdx-2-3.ts'

const COMMIT = '1'.repeat(40)
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)

test.each([
  ['https://git.example.com/team/skills.git', 'https://git.example.com/team/skills.git'],
  ['https://me:secret@git.example.com/a.git', 'https://git.example.com/a.git'],
  ['https://secret@git.example.com/a.git', 'https://git.example.com/a.git'],
  ['https://git.example.com/a.git?token=secret#secret', 'https://git.example.com/a.git'],
  ['ssh://git:secret@git.example.com:22/a.git', 'ssh://git@git.example.com:22/a.git'],
  ['git@git.example.com:team/a.git', 'ssh://git@git.example.com/team/a.git'],
  ['file:///srv/skills', 'file:///srv/skills'],
  ['program:npx server --token secret', undefined],
  ['nothing', undefined],
])('the address of %s is told without what lets anybody in', (text, address) => {
  expect(addressWithoutSecrets(text)).toBe(address)
})

test.each([
  ['MIT', 'expression'],
  [' Apache-2.0 ', 'expression'],
  ['(MIT OR GPL-2.0-only WITH Classpath-exception-2.0)', 'expression'],
  ['mit', 'name'],
  ['Complete terms in LICENSE.txt', 'name'],
  [`${'('.repeat(400)}MIT${')'.repeat(400)}`, 'name'],
])('the license %s is an %s', (text, kind) => {
  expect(licenseOf(text)?.kind).toBe(kind)
})

test('a license that is no text, or says nothing, is none', () => {
  expect(['', '  ', 3, null, undefined, ['MIT']].map(licenseOf)).toEqual(Array.from({ length: 6 }))
})

test.each([
  ['https://github.com/Anthropics/skills.git', ['skills', 'pdf'], `pkg:github/anthropics/skills@${COMMIT}#skills/pdf`],
  [
    'https://github.com/a%zz/b',
    [],
    `pkg:generic/pdf@${COMMIT}?vcs_url=git%2Bhttps:%2F%2Fgithub.com%2Fa%25zz%2Fb%40${COMMIT}`,
  ],
  [
    'https://github.com/a/b/c',
    [],
    `pkg:generic/pdf@${COMMIT}?vcs_url=git%2Bhttps:%2F%2Fgithub.com%2Fa%2Fb%2Fc%40${COMMIT}`,
  ],
  [
    'https://git.example.com/a.git',
    ['deep/er', 'pdf'],
    `pkg:generic/pdf@${COMMIT}?vcs_url=git%2Bhttps:%2F%2Fgit.example.com%2Fa.git%40${COMMIT}#deep/er/pdf`,
  ],
  [undefined, [], `pkg:generic/pdf@${COMMIT}`],
])('the package URL of a skill of %s says where it is from', (address, folder, purl) => {
  expect(purlOf('pdf', { address, commit: COMMIT, folder })).toBe(purl)
})

test('whatever a skill and its folder are called, its package URL is one, and reads back the same', () => {
  const part = fc.string({ minLength: 1, unit: 'binary' }).filter((text) => text.trim() !== '')
  fc.assert(
    fc.property(part, fc.array(part), (name, folder) => {
      const parsed = PackageURL.fromString(
        purlOf(name, { address: 'https://git.example.com/a.git', commit: COMMIT, folder }),
      )

      expect([parsed.type, parsed.name, parsed.version]).toEqual(['generic', name.trim().toWellFormed(), COMMIT])
    }),
  )
})

test('whatever authors write, both forms are valid, and the same bill gives the same bytes', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 50 })
  const skill = fc.record({
    name: text,
    description: text,
    license: fc.oneof(text, fc.constantFrom('MIT', 'MIT OR X')),
    path: text,
  })
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(skill, { maxLength: 4, selector: ({ path }) => path }), async (skills) => {
      const bill = billOf(GENERATION, [snapshotWith(skills)])
      const [cycloneDx, spdx] = [cycloneDxOf(bill), spdxOf(bill)]

      expect(await validator.validate(cycloneDx)).toBeNull()
      expect(SPDX_2_3.safeParse(JSON.parse(spdx)).error?.issues).toBeUndefined()
      const again = billOf(GENERATION, [snapshotWith(skills)])
      expect([cycloneDxOf(again), spdxOf(again)]).toEqual([cycloneDx, spdx])
    }),
    { numRuns: 25 },
  )
})

test('of SPDX, each element that is spoken of is there, each once', () => {
  const bill = billOf(GENERATION, [
    snapshotWith([
      { name: 'a', description: 'A', license: 'Some words', path: 'a' },
      { name: 'a', description: 'A', license: 'Some words', path: 'b' },
    ]),
  ])

  const document = SPDX_2_3.parse(JSON.parse(spdxOf(bill)))

  const ids = [document.SPDXID, ...document.packages.map(({ SPDXID }) => SPDXID)]
  const spoken = document.relationships.flatMap(({ spdxElementId, relatedSpdxElement }) => [
    spdxElementId,
    relatedSpdxElement,
  ])
  expect(new Set(ids).size).toBe(ids.length)
  expect(new Set(spoken)).toEqual(new Set(ids))
  const declared = document.packages
    .map(({ licenseDeclared }) => licenseDeclared)
    .filter((text) => text.startsWith('LicenseRef-'))
  expect(declared).toHaveLength(2)
  expect(document.hasExtractedLicensingInfos).toEqual([
    { licenseId: declared[0], name: 'Some words', extractedText: 'Some words' },
  ])
})

test('a skill whose folder is called as a file of another is told apart from it', () => {
  const skills = ['a', 'a#b', ''].map(withFileB)
  const bill = billOf(GENERATION, [{ ...snapshotOf(), skills }])

  const { components, metadata } = JSON.parse(cycloneDxOf(bill))

  const all = [metadata.component, ...components, ...components.flatMap((one: { components: [] }) => one.components)]
  expect(all.map((one) => one['bom-ref'])).toEqual([
    'generation',
    'team/a',
    'team/a%23b',
    'team/',
    'team/a#b',
    'team/a%23b#b',
    'team/#b',
  ])
})

test('a bill has a serial number of its own for each generation and form, of the form that RFC 9562 asks for', () => {
  const bill = billOf(GENERATION, [snapshotOf()])
  const uuids = [uuidOf(bill, 'a'), uuidOf(bill, 'b'), uuidOf({ ...bill, generation: 8 }, 'a')]

  expect(new Set(uuids).size).toBe(3)
  for (const uuid of uuids)
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

function withFileB(path: string): Skill {
  const { skill } = numbered(1)
  const [file] = skill.files
  return { ...skill, path, files: [{ ...file!, path: 'b' }] }
}

const GENERATION: Generation = {
  number: 7,
  createdAt: '2026-06-15T12:00:00.123Z',
  sources: [{ source: snapshotOf().source, snapshot: '0'.repeat(64) }],
}

interface Written {
  readonly name: string
  readonly description: string
  readonly license: string
  readonly path: string
}

function snapshotWith(skills: readonly Written[]): Snapshot {
  const made = skills.map(({ name, description, license, path }, index) => {
    const { skill } = numbered(index + 1)
    return { ...skill, name, description, path, frontmatter: { name, description, license } }
  })
  return { ...snapshotOf(), skills: made }
}
