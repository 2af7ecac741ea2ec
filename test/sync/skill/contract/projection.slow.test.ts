import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { JsonObject } from '../../../../src/base/json-value.ts'
import { project } from '../../../../src/sync/skill/contract/projection.ts'
import type { Profile } from '../../../../src/sync/skill/contract/projection.ts'
import { reconstruct } from '../../../../src/sync/skill/contract/restore-projection.ts'
import { FRONTMATTER_LIMITS, frontmatterBlock, readFrontmatter } from '../../../../src/sync/skill/frontmatter.ts'
import { toolsIn } from '../../../../src/sync/skill/tool-list.ts'
import { strictFaults } from '../../../support/clients/strict-reader.ts'
import { yaml11 } from '../../../support/content/yaml-1-1.ts'

const BLOCK = `x-personal-mcp:
  id: pdf
  version: 1.2.0
  tags: [documents, "yes"]
  capabilities: [resource://skills/pdf/document]
  references:
    forms: { path: references/forms.md, title: Forms }
  since: 2026-01-31
`

/** A SKILL.md of the name `pdf` with some lines more. */
function authored(lines: string, body = '# PDF\n'): Buffer {
  return Buffer.from(`---\nname: pdf\ndescription: What to do with PDF files\n${lines}---\n${body}`)
}

function projected(bytes: Uint8Array, profile: Profile = 'strict') {
  const projection = project(bytes, profile)
  if (!projection.ok) throw new Error(JSON.stringify(projection.faults))
  return { ...projection, text: Buffer.from(projection.bytes).toString(), ...read(projection.bytes) }
}

/** What a reader of YAML 1.1 finds between the two lines. */
function readBy11(bytes: Uint8Array): unknown {
  const block = frontmatterBlock(bytes, FRONTMATTER_LIMITS.bytes)
  if (!block.ok) throw new Error(block.message)
  return yaml11(Buffer.from(block.yaml).toString())
}

function read(bytes: Uint8Array): { readonly frontmatter: JsonObject; readonly body: Buffer } {
  const reading = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!reading.ok) throw new Error(reading.message)
  return { frontmatter: reading.frontmatter, body: Buffer.from(bytes.subarray(reading.bodyStart)) }
}

/** The faults, each as its field. */
function fieldsAtFault(bytes: Uint8Array, folder?: string): string[] {
  const projection = project(bytes, 'strict', folder)
  return projection.ok ? [] : projection.faults.map(({ field }) => field)
}

describe('a projection', () => {
  test('has the standard fields in their order, and the block as texts behind the author’s own metadata', () => {
    const metadata = 'metadata:\n  zeta: "1.0"\n  author: ada\n'

    const { text, dropped } = projected(authored(`when_to_use: often\n${metadata}license: MIT\n${BLOCK}`))

    expect(text).toBe(`---
name: "pdf"
description: "What to do with PDF files"
license: "MIT"
metadata:
  zeta: "1.0"
  author: "ada"
  x-personal-mcp.id: "pdf"
  x-personal-mcp.version: "1.2.0"
  x-personal-mcp.tags: "[\\"documents\\",\\"yes\\"]"
  x-personal-mcp.capabilities: "[\\"resource://skills/pdf/document\\"]"
  x-personal-mcp.references: "{\\"forms\\":{\\"path\\":\\"references/forms.md\\",\\"title\\":\\"Forms\\"}}"
  x-personal-mcp.since: "\\"2026-01-31\\""
---
# PDF
`)
    expect(dropped).toEqual(['when_to_use'])
    expect(strictFaults(text)).toEqual([])
  })

  test('for Claude Code keeps the fields of that client as they are, and still leaves out what nobody knows', () => {
    const own = {
      when_to_use: 'When a PDF comes',
      arguments: ['file', 'page'],
      'user-invocable': false,
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: './a.sh' }] }, []], Stop: {} },
      paths: [],
    }

    const { frontmatter, dropped } = projected(authored(`${stringify(own)}x-unknown: 1\n${BLOCK}`), 'claude-code')

    const { name: _, description: __, metadata: ___, ...rest } = frontmatter
    expect(rest).toEqual(own)
    expect(dropped).toEqual(['x-unknown'])
  })

  test('of a skill without the block has its standard fields alone', () => {
    const { text, dropped } = projected(authored('version: 1.0\nlicense:\n'))

    expect(text).toBe('---\nname: "pdf"\ndescription: "What to do with PDF files"\n---\n# PDF\n')
    expect(dropped).toEqual(['license', 'version'])
    expect(projected(authored('hooks:\nmodel: opus\n'), 'claude-code')).toMatchObject({
      frontmatter: expect.not.objectContaining({ hooks: null }),
      dropped: ['hooks'],
    })
  })

  test.each([
    ['with CRLF', 'a\r\nb\r\n'],
    ['without a newline at its end', 'a'],
    ['empty', ''],
    ['with a rule', '\n---\nname: other\n---\n'],
    ['with a byte order mark of its own', '\u{FEFF}# PDF\n'],
  ])('leaves a body %s as it is', (_, body) => {
    const { bytes } = projected(authored(BLOCK, body))
    const crlf = Buffer.from(`\u{FEFF}---\r\nname: pdf\r\ndescription: d\r\n---\r\n${body}`)

    expect(read(bytes).body.toString()).toBe(body)
    // The mark is no part of the body, and strict readers do not get past it.
    expect(projected(crlf).text).toBe(`---\nname: "pdf"\ndescription: "d"\n---\n${body}`)
  })

  test.each([
    ['1e-7', '1.0e-7'],
    ['-5e-324', '-5.0e-324'],
    ['1.5e-300', '1.5e-300'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['1e15', '1000000000000000'],
    ['9007199254740991', '9007199254740991'],
    ['"1e-7"', '"1e-7"'],
    ['".inf"', '".inf"'],
    ['.INFINITY', '".INFINITY"'],
    ['1_000', '"1_000"'],
  ])('has the number %s as %s, which readers of YAML 1.1 and 1.2 take for the same', (yaml, written) => {
    const { text, frontmatter, bytes } = projected(authored(`model: ${yaml}\nhooks: [${yaml}]\n`), 'claude-code')

    expect(text).toContain(`\nmodel: ${written}\nhooks:\n  - ${written}\n`)
    expect(readBy11(bytes)).toEqual(frontmatter)
  })

  test.each(['.inf', '-.inf', '.nan', '1e21', '9007199254740993', '12345678901234567890'])(
    'is refused for the number %s, which no reader could give back, with the way out',
    (yaml) => {
      const ends = [`model: ${yaml}\n`, `${BLOCK}  later: ${yaml}\n`].map((lines) => project(authored(lines), 'strict'))

      for (const end of ends)
        expect(end).toMatchObject({ faults: [{ field: 'frontmatter', message: expect.stringContaining('quote it') }] })
    },
  )

  test.each(['""', '" "', '"\\n"'])('leaves out a compatibility of %s, as one that says nothing', (empty) => {
    const { text, dropped } = projected(authored(`compatibility: ${empty}\n`))

    expect(text).not.toContain('compatibility')
    expect(dropped).toEqual(['compatibility'])
  })

  test('takes a compatibility of 500 characters, and is refused for one of 501', () => {
    const of = (count: number) => authored(`compatibility: ${'🙂'.repeat(count)}\n`)

    expect(projected(of(500)).dropped).toEqual([])
    expect(fieldsAtFault(of(501))).toEqual(['compatibility'])
  })

  test('leaves a body that is no text as it is', () => {
    const body = Buffer.from([0xff, 0x00, 0xfe, 0x0d])

    expect(projected(Buffer.concat([authored(BLOCK, ''), body])).body).toEqual(body)
  })

  test.each([
    ['[Read, Grep, "Bash(git add:*)"]', 'Read Grep Bash(git add:*)'],
    ['Read Grep Bash(git add:*)', 'Read Grep Bash(git add:*)'],
    ['Read, Grep,Bash(git add:*, x)', 'Read Grep Bash(git add:*, x)'],
    ['" Read   Grep "', 'Read Grep'],
    ['[" Read "]', 'Read'],
    ['[]', ''],
    ['Bash(echo (a b) c) Read', 'Bash(echo (a b) c) Read'],
    ['Bash(unclosed and on', 'Bash(unclosed and on'],
  ])('has the tools %s as one text', (yaml, text) => {
    expect(projected(authored(`allowed-tools: ${yaml}\n`)).frontmatter['allowed-tools']).toBe(text)
  })

  test.each([
    ['x'.repeat(65), 'name'],
    ['PDF Processing', 'name'],
    ['../up', 'name'],
  ])('is refused for the name %s', (name, field) => {
    expect(fieldsAtFault(Buffer.from(`---\nname: ${name}\ndescription: d\n---\n`))).toEqual([field])
  })

  test.each([
    ['license: 2.0\n', ['license']],
    ['compatibility: [a]\n', ['compatibility']],
    ['allowed-tools: 7\n', ['allowed-tools']],
    [
      'allowed-tools: [Read, 7, "Read Grep", "Bash(git", "", "a,b"]\n',
      [1, 2, 3, 4, 5].map((n) => `allowed-tools[${n}]`),
    ],
    ['metadata: text\n', ['metadata']],
    ['metadata: { version: 1.10, ok: "1.10", deep: { a: 1 } }\n', ['metadata.deep', 'metadata.version']],
    ['metadata: { io.modelcontextprotocol/skills: "x" }\n', ['metadata.io.modelcontextprotocol/skills']],
    ['metadata: { x-personal-mcp.id: "pdf" }\n', ['metadata.x-personal-mcp.id']],
    [`metadata: { x-personal-mcp.tags: "[]" }\n${BLOCK}`, ['metadata.x-personal-mcp.tags']],
    [`metadata: { x-personal-mcp.other: "[]" }\n${BLOCK}`, ['metadata.x-personal-mcp.other']],
    ['x-personal-mcp:\n', ['x-personal-mcp']],
    ['x-personal-mcp: {}\n', ['id', 'version', 'capabilities'].map((member) => `x-personal-mcp.${member}`)],
    [BLOCK.replace('1.2.0', '1.0'), ['x-personal-mcp.version']],
    [BLOCK.replace('id: pdf', 'id: pdx'), ['x-personal-mcp.id']],
    [BLOCK.replace('[documents, "yes"]', 'documents'), ['x-personal-mcp.tags']],
    [`description: again\n`, ['frontmatter']],
  ])('is refused for %j, and names the field', (lines, fields) => {
    expect(fieldsAtFault(authored(lines))).toEqual(fields)
  })

  test('is refused where the folder of a skill with the block is called otherwise', () => {
    expect(fieldsAtFault(authored(BLOCK), 'pdf')).toEqual([])
    expect(fieldsAtFault(authored(BLOCK), 'other')).toEqual(['name'])
    expect(fieldsAtFault(authored(''), 'other')).toEqual([])
  })

  test('is refused where it would be larger than a frontmatter may be', () => {
    const tags = JSON.stringify(Array.from({ length: 4_500 }, (_, index) => `"\\ ${index}`))

    expect(fieldsAtFault(authored(BLOCK.replace('[documents, "yes"]', tags)))).toEqual(['frontmatter'])
  })
})

describe('laws', () => {
  const wild = fc.oneof(
    fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
    fc.constantFrom(
      'yes',
      'no',
      '010',
      '12:30',
      '2026-01-31',
      '1e3',
      'null',
      '~',
      '---',
      '- a',
      'a: b',
      '# a',
      '&a',
      '*a',
      '!x',
    ),
    fc.constantFrom(
      ' a',
      'a ',
      'a\tb',
      'a\n---\nb',
      '-----',
      'a\r\nb',
      '\u{85}',
      '\u{2028}',
      '\u{FEFF}',
      '🙂',
      "'",
      '"',
      '\\',
      '%',
    ),
  )
  const key = fc.oneof(wild, fc.constantFrom('__proto__', '10', '2', 'on', 'a-b.c')).filter((text) => text.length < 200)
  const json = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      wild,
      fc.boolean(),
      fc.constant(null),
      fc.integer(),
      fc.maxSafeInteger(),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((number) => !Number.isInteger(number) || Number.isSafeInteger(number)),
      fc.constantFrom(1e-7, -1e-7, 5e-324, 1.5e-300, -0, 1e15, 0.000001),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 3 }),
    ),
  })).any
  const block = fc
    .record({
      known: fc.record(
        {
          tags: fc.array(wild, { maxLength: 3 }),
          depends_on: fc.array(wild, { maxLength: 3 }),
          references: fc.dictionary(key, json, { maxKeys: 3 }),
        },
        { requiredKeys: [] },
      ),
      others: fc.dictionary(key, json, { maxKeys: 3 }),
      version: wild,
      capabilities: fc.array(wild, { maxLength: 3 }),
    })
    .map(({ known, others, version, capabilities }) =>
      Object.fromEntries([others, known, { id: 'pdf', version, capabilities }].flatMap((part) => Object.entries(part))),
    )
  const tools = fc.array(fc.constantFrom('Read', 'Bash(git add:*)', 'Bash(a, (b) c)', 'mcp__x__y'), { maxLength: 4 })
  const frontmatter = fc.record(
    {
      name: fc.constant('pdf'),
      description: wild.filter((text) => text.trim() !== ''),
      license: wild,
      compatibility: fc.oneof(wild, fc.constantFrom('', ' \n', 'x'.repeat(500), '🙂'.repeat(500))),
      'allowed-tools': fc.oneof(
        tools,
        tools.map((list) => list.join(', ')),
      ),
      metadata: fc.dictionary(
        key.filter((text) => !text.startsWith('x-personal-mcp.')),
        wild,
        // An empty one is as good as none, and comes back as none.
        { minKeys: 1, maxKeys: 4 },
      ),
      'x-personal-mcp': block,
      hooks: json,
      model: json,
      'x-other': json,
    },
    { requiredKeys: ['name', 'description'] },
  )
  const skill = fc
    .tuple(frontmatter, fc.constantFrom({}, { lineWidth: 20 }, { collectionStyle: 'flow' as const }), fc.uint8Array())
    .map(([fields, style, body]) => ({
      body: Buffer.from(body),
      bytes: Buffer.concat([Buffer.from(`---\n${stringify(fields, style)}---\n`), body]),
    }))
    // What is no frontmatter to begin with is no case of these laws.
    .filter(({ bytes }) => readFrontmatter(bytes, FRONTMATTER_LIMITS).ok)
  const profile = fc.constantFrom<Profile>('strict', 'claude-code')

  test('a projection that is undone has the block, the body and the kept fields of the skill', () => {
    fc.assert(
      fc.property(skill, profile, ({ bytes, body }, who) => {
        const before = read(bytes).frontmatter
        const projection = projected(bytes, who)
        const undone = reconstruct(projection.bytes)
        if (!undone.ok) throw new Error(JSON.stringify(undone.faults))
        const after = read(undone.bytes)

        const left = new Set(projection.dropped)
        const kept = Object.fromEntries(Object.entries(before).filter(([name]) => !left.has(name)))
        expect(after.body).toEqual(body)
        expect(toolsOf(after.frontmatter)).toEqual(toolsOf(kept))
        expect(readBy11(projection.bytes)).toEqual(projection.frontmatter)
        expect(readBy11(undone.bytes)).toEqual(after.frontmatter)
        expect({ ...after.frontmatter, 'allowed-tools': null }).toEqual({ ...kept, 'allowed-tools': null })
        expect(project(undone.bytes, who)).toEqual({ ok: true, name: 'pdf', bytes: projection.bytes, dropped: [] })
      }),
    )
  })

  test('every strict projection is taken by strict readers, holds texts alone and is the same each time', () => {
    fc.assert(
      fc.property(skill, ({ bytes, body }) => {
        const { bytes: written, text, frontmatter, body: after } = projected(bytes)

        const { metadata = {}, ...fields } = frontmatter
        expect(strictFaults(text.slice(0, text.length - body.toString().length))).toEqual([])
        expect(after).toEqual(body)
        for (const value of [...Object.values(fields), ...Object.values(metadata ?? {})])
          expect(value).toBeTypeOf('string')
        expect(Object.keys(metadata ?? {}).some((name) => name.startsWith('io.modelcontextprotocol/'))).toBe(false)
        expect(project(Buffer.from(bytes), 'strict')).toMatchObject({ bytes: written })
      }),
    )
  })

  test('neither direction ever throws', () => {
    const text = fc.oneof(
      fc.string().map((lines) => authored(`${lines}\n`)),
      fc.dictionary(key, json).map((fields) => authored(stringify(fields))),
      fc
        .dictionary(
          key.map((name) => `x-personal-mcp.${name}`),
          wild,
        )
        .map((metadata) => authored(stringify({ metadata }))),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    )

    fc.assert(
      fc.property(text, profile, (bytes, who) => {
        expect(() => [project(bytes, who), reconstruct(bytes)]).not.toThrow()
      }),
    )
  })
})

describe('a reconstruction', () => {
  test('has the block as a block, and what the author wrote before it', () => {
    const { bytes } = projected(authored(`metadata: { zeta: "1", author: ada }\n${BLOCK}`))

    const undone = reconstruct(bytes)

    expect(undone).toMatchObject({ ok: true, name: 'pdf' })
    expect(undone.ok && Buffer.from(undone.bytes).toString()).toBe(`---
name: "pdf"
description: "What to do with PDF files"
metadata:
  zeta: "1"
  author: "ada"
x-personal-mcp:
  id: "pdf"
  version: "1.2.0"
  tags:
    - "documents"
    - "yes"
  capabilities:
    - "resource://skills/pdf/document"
  references:
    forms:
      path: "references/forms.md"
      title: "Forms"
  since: "2026-01-31"
---
# PDF
`)
  })

  test.each([
    ['metadata: { x-personal-mcp.tags: "[" }\n', 'metadata.x-personal-mcp.tags'],
    ['metadata: { x-personal-mcp.tags: 7 }\n', 'metadata.x-personal-mcp.tags'],
    [`metadata: { x-personal-mcp.tags: '${'['.repeat(9_000)}${']'.repeat(9_000)}' }\n`, 'metadata.x-personal-mcp.tags'],
    ['metadata: { x-personal-mcp.tags: "1e999" }\n', 'metadata.x-personal-mcp.tags'],
    ['metadata: { x-personal-mcp.tags: "[9007199254740993]" }\n', 'metadata.x-personal-mcp.tags'],
    ['metadata: { x-personal-mcp.id: 5 }\n', 'metadata.x-personal-mcp.id'],
    ['metadata: { x-personal-mcp.id: other }\n', 'metadata.x-personal-mcp.id'],
    [BLOCK, 'x-personal-mcp'],
  ])('is refused for %j', (lines, field) => {
    const undone = reconstruct(authored(lines))

    expect(undone.ok ? [] : undone.faults.map((fault) => fault.field)).toEqual([field])
  })
})

test.each([
  ['a list', `[${'a,'.repeat(5_000)}a]`],
  ['deep lists', `[${Array.from({ length: 300 }, () => `${'['.repeat(25)}1${']'.repeat(25)}`).join(',')}]`],
  [
    'mappings',
    `[${Array.from({ length: 110 }, () => `${'{a: '.repeat(22)}{"---": 1.0e-7}${'}'.repeat(22)}`).join(',')}]`,
  ],
])('a reconstruction of %s that has no room on lines of its own is compact, and has the same values', (_, yaml) => {
  const bytes = authored(`${BLOCK}  later: ${yaml}\n`)

  const undone = reconstruct(projected(bytes).bytes)

  expect(undone.ok && read(undone.bytes).frontmatter).toEqual(read(bytes).frontmatter)
  expect(undone.ok && readBy11(undone.bytes)).toEqual(read(bytes).frontmatter)
})

test('a reconstruction has zero for the zero below zero, which YAML does not know', () => {
  const undone = reconstruct(authored('metadata: { x-personal-mcp.later: "[-0, 1e-7]" }\n'))

  expect(undone.ok && read(undone.bytes).frontmatter['x-personal-mcp']).toEqual({ later: [0, 1e-7] })
})

function toolsOf(frontmatter: JsonObject): unknown {
  const tools = frontmatter['allowed-tools']
  return typeof tools === 'string' ? toolsIn(tools) : tools
}
