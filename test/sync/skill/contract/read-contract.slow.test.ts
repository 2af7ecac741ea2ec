import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type JsonObject } from '../../../../src/base/json-value.ts'
import { readContract, type ContractReading } from '../../../../src/sync/skill/contract/read-contract.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../../../../src/sync/skill/frontmatter.ts'
import { isSkillName } from '../../../../src/sync/skill/skill-name.ts'
import { contractFrontmatter, documentOf } from '../../../support/content/contract-fixture.ts'

const DOCUMENT = 'resource://skills/pdf/document'
const FILES = ['SKILL.md', 'references/a.md', 'references/x/y.MD', 'references/a.txt', 'docs/a.md', 'a.md']

/** Reads a frontmatter as it stands in a file, of a skill in the folder `pdf`. */
function reading(
  frontmatter: object,
  folder: string | undefined = 'pdf',
  files: readonly string[] = FILES,
): ContractReading {
  const read = readFrontmatter(Buffer.from(documentOf(frontmatter)), FRONTMATTER_LIMITS)
  if (!read.ok) throw new Error(read.message)
  return readContract(read.frontmatter, folder, files)
}

const block = (more: object): object => contractFrontmatter('pdf', more)
const top = (more: object): object => contractFrontmatter('pdf', {}, more)
const reference = (more: unknown): object => block({ references: { api: more } })
const path = (written: string): object => reference({ path: written })
const without = (key: string): object => {
  const { 'x-personal-mcp': said, ...rest } = contractFrontmatter('pdf')
  const left = Object.fromEntries(Object.entries(said as object).filter(([name]) => name !== key))
  return { ...rest, 'x-personal-mcp': left }
}
const named = (name: string): object => contractFrontmatter(name)

/** The fields at which something is wrong. */
function violated(read: ContractReading): string[] {
  return read.ok ? [] : read.violations.map(({ path }) => path)
}

test.each(['model', 'effort', 'context', 'agent', 'shell', 'paths', 'hooks'])(
  '%s of another type is noted, since the contract ignores the field',
  (field) => {
    const read = reading(top({ [field]: 5 }))

    expect(read).toMatchObject({
      ok: true,
      notes: [{ path: field, message: expect.stringMatching(/^(?:it is|5 is)/) }],
    })
  },
)

describe('what keeps the contract', () => {
  test.each([
    ['the least there is', block({})],
    [
      'unknown fields, at the top and in the block',
      contractFrontmatter('pdf', { later: [1] }, { 'x-else': { a: null } }),
    ],
    [
      'an id of a reference with white space around it',
      block({ references: { ' api ': { path: 'references/a.md' } } }),
    ],
    ['unknown fields of a reference', reference({ path: 'references/a.md', owner: 'x' })],
    ['white space around texts', block({ id: ' pdf ', version: '\t1.0.0\n', capabilities: [` ${DOCUMENT}\u00A0`] })],
    ['a description of 1024 characters', top({ description: 'd'.repeat(1024) })],
    ['a description of 1024 characters outside of the first plane', top({ description: '😀'.repeat(1024) })],
    ['a description of 1024 characters and the end of a block', top({ description: `${'d'.repeat(1024)}\n` })],
    ['a description that compares', top({ description: 'Use it where a < b and b > c, a<b and c>d, or x <- y' })],
    ['a description that names a type', top({ description: 'Makes a Map<K, V> or a Set<2>' })],
    ['a description that has half a tag', top({ description: 'What <b would do' })],
    ['no tags', block({ tags: [] })],
    ['tags', block({ tags: ['review', 'code-quality'] })],
    ['no dependencies', block({ depends_on: [] })],
    ['dependencies', block({ depends_on: ['git-basics', 'a'] })],
    ['no references', block({ references: {} })],
    ['further capabilities', block({ capabilities: ['tool://x', DOCUMENT] })],
    ['a media type', reference({ path: 'references/a.md', mime_type: 'text/markdown; charset=utf-8' })],
    ['a title', reference({ path: 'references/a.md', title: 'A' })],
    ['no title', reference({ path: 'references/a.md', title: null })],
    ['an odd id of a reference', block({ references: { 'a-1-': { path: 'references/a.md' } } })],
    ['tools as a list', top({ 'allowed-tools': ['Read', 'Bash'], 'disallowed-tools': ['Write'] })],
    ['tools as a text', top({ 'allowed-tools': 'Read Bash', 'disallowed-tools': 'Write' })],
    ['arguments and paths as a list', top({ arguments: ['a'], paths: ['src/**'] })],
    ['arguments and paths as a text', top({ arguments: 'a b', paths: 'src/**' })],
    ['switches', top({ 'disable-model-invocation': false, 'user-invocable': true })],
    ['switches as words', top({ 'disable-model-invocation': 'yes', 'user-invocable': 'False' })],
    ['switches as numbers', top({ 'disable-model-invocation': 0, 'user-invocable': '1' })],
    ['texts', top(texts('x'))],
    ['fields of Agent Skills that are empty', top({ ...texts(null), metadata: null, hooks: null, arguments: null })],
    ['metadata of texts', top({ metadata: { version: '1.0' } })],
    ['compatibility of 500 characters', top({ compatibility: 'c'.repeat(500) })],
    ['hooks', top({ hooks: { PreToolUse: [] } })],
  ])('%s', (_, frontmatter) => {
    expect(violated(reading(frontmatter))).toEqual([])
  })

  test.each(['1.0.0', '0.1.2', '1.0.0-rc.1', '1.0.0+b1', '1.10.0', '10.20.30'])('the version %s', (version) => {
    expect(violated(reading(block({ version })))).toEqual([])
  })

  test.each([
    'references/a.md',
    'references/x/y.MD',
    './references/a.md',
    'references//a.md',
    'references/./x//y.MD',
    'references/a.md/',
  ])('the path %s', (written) => {
    expect(violated(reading(path(written)))).toEqual([])
  })

  test.each(['p', 'a1', 'n'.repeat(64)])('the name %s', (name) => {
    expect(violated(reading(named(name), name))).toEqual([])
  })

  test('a skill at the root of a repository, whatever the clone is called', () => {
    expect(violated(reading(block({}), undefined))).toEqual([])
  })
})

describe('what breaks the contract, at the field', () => {
  test.each<readonly [what: string, frontmatter: object, field: string]>([
    ['no block', { name: 'pdf', description: 'x' }, 'x-personal-mcp'],
    ['an empty block', { name: 'pdf', description: 'x', 'x-personal-mcp': null }, 'x-personal-mcp'],
    ['a block that is a list', { name: 'pdf', description: 'x', 'x-personal-mcp': [] }, 'x-personal-mcp'],
    ['no description', top({ description: undefined }), 'description'],
    ['a description that is a number', top({ description: 5 }), 'description'],
    ['an empty description', top({ description: '  ' }), 'description'],
    ['a description of 1025 characters', top({ description: 'd'.repeat(1025) }), 'description'],
    ['a tag in the description', top({ description: 'Make it <b>bold</b>' }), 'description'],
    ['a closing tag alone', top({ description: 'All </system >of it' }), 'description'],
    ['a tag with attributes', top({ description: 'See <a href="x>y" id=z>here' }), 'description'],
    ['an empty tag over two lines', top({ description: 'See <br\n/> here' }), 'description'],
    ['a tag of another script', top({ description: 'See <é>' }), 'description'],
    ['a declaration', top({ description: 'See <!DOCTYPE html>' }), 'description'],
    ['an instruction', top({ description: 'See <?xml version="1.0"?>' }), 'description'],
    ['a section', top({ description: 'See <![CDATA[a<b]]>' }), 'description'],
    ['a comment with brackets in it', top({ description: 'See <!-- a<b -->' }), 'description'],
    ['a comment in the description', top({ description: 'Make it <!-- not --> bold' }), 'description'],
    ['no id', without('id'), 'x-personal-mcp.id'],
    [
      'an id that is not the name',
      contractFrontmatter('pdf', { id: 'pdx', capabilities: ['resource://skills/pdx/document'] }),
      'x-personal-mcp.id',
    ],
    ['no version', without('version'), 'x-personal-mcp.version'],
    ['a version that is a number', block({ version: 1.5 }), 'x-personal-mcp.version'],
    ['no capabilities', without('capabilities'), 'x-personal-mcp.capabilities'],
    ['empty capabilities', block({ capabilities: [] }), 'x-personal-mcp.capabilities'],
    ['capabilities that are a text', block({ capabilities: DOCUMENT }), 'x-personal-mcp.capabilities'],
    [
      'capabilities without the document',
      block({ capabilities: ['resource://skills/pdx/document'] }),
      'x-personal-mcp.capabilities',
    ],
    ['a capability that is no text', block({ capabilities: [DOCUMENT, 1] }), 'x-personal-mcp.capabilities[1]'],
    ['tags that are a text', block({ tags: 'a' }), 'x-personal-mcp.tags'],
    ['tags that are empty', block({ tags: null }), 'x-personal-mcp.tags'],
    ['a tag that is a number', block({ tags: ['a', 1] }), 'x-personal-mcp.tags[1]'],
    ['dependencies that are a text', block({ depends_on: 'a' }), 'x-personal-mcp.depends_on'],
    ['a dependency that is no id', block({ depends_on: ['a', 'Git_Basics'] }), 'x-personal-mcp.depends_on[1]'],
    ['a dependency that begins with a digit', block({ depends_on: ['1up'] }), 'x-personal-mcp.depends_on[0]'],
    ['references that are a list', block({ references: [] }), 'x-personal-mcp.references'],
    ['a reference that is a text', reference('references/a.md'), 'x-personal-mcp.references.api'],
    ['a reference without a path', reference({ title: 'A' }), 'x-personal-mcp.references.api.path'],
    [
      'an id of a reference that is none',
      block({ references: { Bad_Id: { path: 'references/a.md' } } }),
      'x-personal-mcp.references.Bad_Id',
    ],
    [
      'a media type that is none',
      reference({ path: 'references/a.md', mime_type: 'markdown' }),
      'x-personal-mcp.references.api.mime_type',
    ],
    [
      'a media type that is empty',
      reference({ path: 'references/a.md', mime_type: null }),
      'x-personal-mcp.references.api.mime_type',
    ],
    [
      'a title that is a number',
      reference({ path: 'references/a.md', title: 1 }),
      'x-personal-mcp.references.api.title',
    ],
    ['tools that are a number', top({ 'allowed-tools': 1 }), 'allowed-tools'],
    ['tools that are not to be used, and no texts', top({ 'disallowed-tools': [1] }), 'disallowed-tools'],
    ['arguments that are a mapping', top({ arguments: {} }), 'arguments'],
    ['a switch that is a text', top({ 'disable-model-invocation': 'never' }), 'disable-model-invocation'],
    ['a switch that is an empty text', top({ 'user-invocable': '' }), 'user-invocable'],
    ['another switch that is a number', top({ 'user-invocable': 2 }), 'user-invocable'],
    ['metadata that are a list', top({ metadata: [] }), 'metadata'],
    ['a value of metadata that is no text', top({ metadata: { version: 1 } }), 'metadata.version'],
    ['compatibility of 501 characters', top({ compatibility: 'c'.repeat(501) }), 'compatibility'],
    ...['license', 'when_to_use', 'argument-hint', 'compatibility'].map(
      (key) => [`${key} that is a number`, top({ [key]: 1 }), key] as const,
    ),
  ])('%s', (_, frontmatter, field) => {
    expect(violated(reading(frontmatter))).toEqual([field])
  })

  test.each(['01.0.0', '1.0', 'v1.0.0', '1.0.0-rc.1+b1', '1.0.0 beta', '1.0.0-', ''])('the version %s', (version) => {
    expect(violated(reading(block({ version })))).toEqual(['x-personal-mcp.version'])
  })

  test.each([
    '../a.md',
    'references/../a.md',
    '/references/a.md',
    '//references/a.md',
    'docs/a.md',
    'a.md',
    'references/a.txt',
    'references\\a.md',
    'references/a\0.md',
    'references',
    'references/.md',
    'references.md',
    '.',
    '',
    'references/none.md',
    'REFERENCES/a.md',
    'references/A.md',
  ])('the path %s', (written) => {
    expect(violated(reading(path(written)))).toEqual(['x-personal-mcp.references.api.path'])
  })

  test.each([
    'claude-code',
    'my-anthropic',
    'Upper',
    '1up',
    'dou--ble',
    'trail-',
    '-lead',
    'under_score',
    'ünï',
    '<b>',
    'n'.repeat(65),
    ' padded',
    '',
  ])('the name %j', (name) => {
    expect(violated(reading(named(name), name))).toContain('name')
  })

  test.each(['Pdf', '1pdf', 'p_df', '', 5, null])('the id %j', (id) => {
    expect(violated(reading(block({ id })))).toContain('x-personal-mcp.id')
  })

  test.each([undefined, null, 5, ['pdf']])('the name %j, which is no text', (name) => {
    expect(violated(reading(top({ name })))).toEqual(['name'])
  })

  test('a name that is not that of the folder', () => {
    expect(violated(reading(block({}), 'pdx'))).toEqual(['name'])
  })

  test('and each fault is told, with the value and the mend', () => {
    const frontmatter = contractFrontmatter('Pdf', {
      id: 'pdf',
      version: 1.5,
      capabilities: [],
      references: { api: { path: 'api.md' } },
    })

    const read = reading(frontmatter)

    expect(read).toMatchObject({
      ok: false,
      violations: [
        {
          path: 'name',
          message: '"Pdf" must begin with a letter and have 1 to 64 of a-z, 0-9 and single hyphens between them',
        },
        {
          path: 'x-personal-mcp.version',
          message: 'it is a number and no text; write a semantic version of three numbers, such as "1.0.0"',
        },
        { path: 'x-personal-mcp.capabilities', message: 'is empty; list resource://skills/<id>/document at least' },
        {
          path: 'x-personal-mcp.references.api.path',
          message: '"api.md" must lead to a .md file below references/, without ".." or "\\"',
        },
        { path: 'name', message: '"Pdf" is not the name of its folder, "pdf"; rename one of the two' },
        { path: 'x-personal-mcp.id', message: '"pdf" is not the name "Pdf"; make them the same' },
      ],
    })
  })

  test('a key that means something to JavaScript is a key', () => {
    const frontmatter: JsonObject = JSON.parse(
      JSON.stringify(block({ references: {} })).replace(
        '"references":{}',
        '"references":{"__proto__":{"path":"references/a.md"}}',
      ),
    )

    expect(violated(readContract(frontmatter, 'pdf', FILES))).toEqual(['x-personal-mcp.references.__proto__'])
  })

  test('a long run of white space takes no time to speak of', () => {
    const frontmatter = block({ title: 'x', tags: [`a${' '.repeat(1_000_000)}b`] }) as JsonObject

    expect(readContract(frontmatter, 'pdf', FILES).ok).toBe(true)
  })
})

describe('what a skill that keeps it says', () => {
  test('with the defaults filled in, normalised and in order', () => {
    const read = reading(
      block({
        version: ' 1.2.3 ',
        tags: ['b', ' a ', 'b'],
        capabilities: [DOCUMENT, 'resource://skills/pdf/references/deep'],
        depends_on: ['z', 'pdf', 'z'],
        references: {
          zeta: { path: 'references/a.md', mime_type: 'text/plain', title: ' Zeta ' },
          deep: { path: './references//x/y.MD', title: '' },
        },
        icons: [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48', 'any'], theme: 'dark' }],
      }),
    )

    expect(read).toMatchObject({
      contract: {
        id: 'pdf',
        version: '1.2.3',
        tags: ['b', 'a'],
        capabilities: [DOCUMENT, 'resource://skills/pdf/references/deep'],
        dependsOn: ['z'],
        references: [
          { id: 'deep', path: 'references/x/y.MD', mimeType: 'text/markdown' },
          { id: 'zeta', path: 'references/a.md', mimeType: 'text/plain', title: 'Zeta' },
        ],
        icons: [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48', 'any'] }],
      },
    })
  })

  test.each([
    ['a tag that is not kebab-case', { tags: ['a', 'Code Review'] }, ['tags[1]']],
    ['a tag twice', { tags: ['a', 'a'] }, ['tags[1]']],
    ['a capability twice', { capabilities: [DOCUMENT, DOCUMENT] }, ['capabilities[1]']],
    [
      'a reference that is not declared',
      { capabilities: [DOCUMENT, 'resource://skills/pdf/references/api'] },
      ['capabilities[1]'],
    ],
    [
      'the document of another skill',
      { capabilities: [DOCUMENT, 'resource://skills/pdx/document'] },
      ['capabilities[1]'],
    ],
    ['the record of another skill', { capabilities: [DOCUMENT, 'resource://catalog/skills/pdx'] }, ['capabilities[1]']],
    [
      'an address that the family has not',
      { capabilities: [DOCUMENT, 'resource://skills/pdf/v1/document'] },
      ['capabilities[1]'],
    ],
    ['another such', { capabilities: [DOCUMENT, 'resource://prompts/pdf'] }, ['capabilities[1]']],
    ['a capability that is no URI', { capabilities: [DOCUMENT, 'document'] }, ['capabilities[1]']],
    [
      'capabilities that lead somewhere',
      {
        capabilities: [
          DOCUMENT,
          'resource://catalog/skills_index',
          'resource://catalog/skills/pdf',
          'resource://docs/a.md',
          'tool://x',
        ],
      },
      [],
    ],
    ['itself', { depends_on: ['pdf'] }, ['depends_on[0]']],
    ['a dependency twice', { depends_on: ['a', 'a'] }, ['depends_on[1]']],
    [
      'two references to one file',
      { references: { a: { path: 'references/a.md' }, b: { path: './references/a.md' } } },
      ['references.b'],
    ],
    ['an alias', { references: { a: { path: 'references/a.md', aliases: ['b'] } } }, ['references.a.aliases']],
    ['a version that semver.org refuses', { version: '1.0.0-01' }, ['version']],
    ['icons that are no list', { icons: { src: 'https://example.com/a.png' } }, ['icons']],
    ['an icon over an open line', { icons: [{ src: 'http://example.com/a.png' }] }, ['icons[0].src']],
    ['an icon with a password', { icons: [{ src: 'https://a:b@example.com/a.png' }] }, ['icons[0].src']],
    ['an icon of a script', { icons: [{ src: 'javascript:alert(1)' }] }, ['icons[0].src']],
    ['an icon of data that is no image', { icons: [{ src: 'data:text/html;base64,AA==' }] }, ['icons[0].src']],
    ['an image that is not in base64', { icons: [{ src: 'data:image/svg+xml,<svg/>' }] }, ['icons[0].src']],
    ['an icon that is a book', { icons: [{ src: `data:image/png;base64,${'A'.repeat(20_000)}` }] }, ['icons[0].src']],
    ['an icon with a long address', { icons: [{ src: `https://a.example/${'ü'.repeat(1_000)}` }] }, ['icons[0].src']],
    [
      'more icons than anybody shows',
      { icons: Array.from({ length: 9 }, () => ({ src: 'https://a.example/a.png' })) },
      ['icons'],
    ],
    ['an icon without an address', { icons: [{}] }, ['icons[0].src']],
    [
      'an icon of no type and no size',
      { icons: [{ src: 'data:image/png;base64,AA==', mimeType: 1, sizes: '48x48' }] },
      ['icons[0].mimeType', 'icons[0].sizes'],
    ],
  ])('is served and noted for %s', (_, more, fields) => {
    const read = reading(block(more))

    expect(violated(read)).toEqual([])
    expect(read.notes.map(({ path }) => path)).toEqual(fields.map((field) => `x-personal-mcp.${field}`))
  })

  test('is noted for a switch that is none to every reader', () => {
    const read = reading(top({ 'disable-model-invocation': 'Yes', 'user-invocable': 1 }))

    expect(read).toMatchObject({
      ok: true,
      notes: [
        { path: 'disable-model-invocation', message: '"Yes" is a text to many readers; write true or false' },
        { path: 'user-invocable', message: '1 is a number to many readers; write true or false' },
      ],
    })
  })

  test('is noted for a metadata.yaml beside it', () => {
    expect(reading(block({}), 'pdf', ['SKILL.md', 'metadata.yaml']).notes).toMatchObject([{ path: 'x-personal-mcp' }])
  })

  test('hands on the address of an icon as it is read', () => {
    const icons = [{ src: 'HTTPS://A.example:443/x/../i cöns/%61.png?v=1' }]

    expect(reading(block({ icons }))).toMatchObject({
      contract: { icons: [{ src: 'https://a.example/i%20c%C3%B6ns/%61.png?v=1' }] },
    })
  })

  test('keeps what is right of its icons', () => {
    const icons = [{ src: 'http://x' }, { src: 'data:image/png;base64,AA==', mimeType: 1, sizes: ['1x1'] }]

    expect(reading(block({ icons }))).toMatchObject({
      contract: { icons: [{ src: 'data:image/png;base64,AA==', sizes: ['1x1'] }] },
    })
  })
})

/** Values that come near to what is asked for, and all others. */
const near = fc.oneof(
  fc.constantFrom(
    'pdf',
    ' pdf',
    '1.0.0',
    DOCUMENT,
    'references/a.md',
    './references/x/y.MD',
    'text/plain',
    '',
    null,
    1,
    true,
  ),
  fc.constantFrom([DOCUMENT], ['a', 'pdf'], [], {}, { api: { path: 'references/a.md' } }, { __proto__: null, api: 1 }),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<any>,
)
const fields = ['id', 'version', 'tags', 'capabilities', 'depends_on', 'references', 'icons', 'aliases']
const blocks = fc.oneof(near, fc.record(Object.fromEntries(fields.map((key) => [key, near])), { requiredKeys: [] }))
const standard = ['name', 'description', 'metadata', 'allowed-tools', 'user-invocable', 'hooks', 'license']
const frontmatters = fc
  .record({ ...Object.fromEntries(standard.map((key) => [key, near])), 'x-personal-mcp': blocks }, { requiredKeys: [] })
  .map((value): JsonObject => JSON.parse(JSON.stringify(value)))
/** A frontmatter that keeps the contract, with up to two values replaced. */
const bent = fc
  .array(fc.tuple(fc.constantFrom(...fields, ...standard), near), { maxLength: 2 })
  .map((edits): JsonObject => {
    const kept = contractFrontmatter('pdf', { references: { api: { path: 'references/a.md' } } })
    for (const [key, value] of edits) {
      if (standard.includes(key)) kept[key] = value
      else kept['x-personal-mcp'] = { ...(kept['x-personal-mcp'] as object), [key]: value }
    }
    return JSON.parse(JSON.stringify(kept))
  })

describe('for every value', () => {
  test('reading never throws, and what it lets through keeps every rule', () => {
    let kept = 0
    fc.assert(
      fc.property(fc.oneof(frontmatters, bent), fc.constantFrom('pdf', 'other', undefined), (frontmatter, folder) => {
        const read = readContract(frontmatter, folder, FILES)

        const violations = read.ok ? [] : read.violations
        for (const { path, message } of [...violations, ...read.notes]) {
          expect(path).not.toBe('')
          expect(message.length).toBeLessThan(400)
          expect(message).not.toMatch(/^Invalid/)
        }
        expect(violations.length === 0).toBe(read.ok)
        if (!read.ok) return
        kept += 1
        const { contract } = read
        expect([frontmatter['name'], folder ?? contract.id]).toEqual([contract.id, contract.id])
        expect(isSkillName(contract.id) && /^[a-z]/.test(contract.id)).toBe(true)
        expect(contract.version).toMatch(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.-]+)?$/)
        expect(contract.capabilities).toContain(`resource://skills/${contract.id}/document`)
        for (const { id, path, mimeType } of contract.references) {
          expect(id).toMatch(/^[a-z][a-z0-9-]*$/)
          expect(path.startsWith('references/') && FILES.includes(path)).toBe(true)
          expect(mimeType).toContain('/')
        }
        expect(contract.references.map(({ id }) => id)).toEqual(contract.references.map(({ id }) => id).toSorted())
        for (const { src } of contract.icons) expect(src).toMatch(/^(?:https|data):/i)
        expect(new Set(contract.dependsOn).size).toBe(contract.dependsOn.length)
        expect(JSON.parse(JSON.stringify(contract))).toEqual(contract)
      }),
      { numRuns: 1000 },
    )
    expect(kept).toBeGreaterThan(30)
  })

  test('neither does reading whatever stands between the fences', () => {
    const yaml = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      frontmatters.map((value) => stringify(value)),
      fc
        .tuple(
          frontmatters.map((value) => stringify(value)),
          fc.nat(300),
          fc.string({ unit: 'binary', maxLength: 5 }),
        )
        .map(([text, at, junk]) => `${text.slice(0, at)}${junk}${text.slice(at)}`),
    )

    let readable = 0
    fc.assert(
      fc.property(yaml, (text) => {
        const read = readFrontmatter(Buffer.from(`---\n${text}\n---\n`), FRONTMATTER_LIMITS)
        if (!read.ok) return
        readContract(read.frontmatter, 'pdf', FILES)
        readable += 1
      }),
      { numRuns: 1000 },
    )

    expect(readable).toBeGreaterThan(100)
  })
})

function texts(value: string | null): Record<string, string | null> {
  const keys = [
    'license',
    'when_to_use',
    'argument-hint',
    'model',
    'effort',
    'context',
    'agent',
    'shell',
    'compatibility',
  ]
  return Object.fromEntries(keys.map((key) => [key, value]))
}
