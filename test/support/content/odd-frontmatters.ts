import type { LintCode } from '../../../src/features/author/lint/diagnostic.ts'

/** One odd frontmatter. */
export interface OddFrontmatter {
  /** What stands below the name. */
  readonly lines: string
  /** What is found of it; undefined where every client takes it. */
  readonly rule:
    | Extract<
        LintCode,
        'metadata-not-text' | 'compatibility-invalid' | 'description-padded' | 'field-refused' | 'frontmatter-unquoted'
      >
    | undefined
}

const saying = (lines: string, rule?: OddFrontmatter['rule']): OddFrontmatter => ({
  lines: `description: Use when something is odd about the frontmatter\n${lines}`,
  rule,
})

const X = (count: number): string => 'x'.repeat(count)

/** By a name of a skill: what real collections have, and what a schema of some client could refuse. */
export const ODD_FRONTMATTERS: Readonly<Record<string, OddFrontmatter>> = {
  'metadata-with-number': saying('metadata: { version: 1.2 }', 'metadata-not-text'),
  'metadata-with-switch': saying('metadata: { beta: true }', 'metadata-not-text'),
  'metadata-with-nothing': saying('metadata: { author: }', 'metadata-not-text'),
  'metadata-with-list': saying('metadata:\n  tags: [a, b]', 'metadata-not-text'),
  'metadata-with-mapping': saying('metadata:\n  author:\n    name: me', 'metadata-not-text'),
  'metadata-as-list': saying('metadata: [a, b]', 'metadata-not-text'),
  'metadata-as-empty-list': saying('metadata: []', 'metadata-not-text'),
  'metadata-as-text': saying('metadata: text', 'metadata-not-text'),
  'metadata-as-empty-text': saying('metadata: ""', 'metadata-not-text'),
  'metadata-as-number': saying('metadata: 7', 'metadata-not-text'),
  'metadata-as-switch': saying('metadata: false', 'metadata-not-text'),
  'metadata-empty': saying('metadata:', 'metadata-not-text'),
  'compatibility-empty': saying('compatibility:', 'compatibility-invalid'),
  'compatibility-empty-text': saying('compatibility: ""', 'compatibility-invalid'),
  'compatibility-as-list': saying('compatibility: [claude-code, codex]', 'compatibility-invalid'),
  'compatibility-as-number': saying('compatibility: 2', 'compatibility-invalid'),
  'compatibility-as-mapping': saying('compatibility:\n  python: "3.12"', 'compatibility-invalid'),
  'compatibility-long': saying(`compatibility: ${X(501)}`, 'compatibility-invalid'),
  'compatibility-long-by-a-break': saying(`compatibility: |\n  ${X(500)}`, 'compatibility-invalid'),
  'description-with-break': { lines: `description: |\n  ${X(1024)}`, rule: 'description-padded' },
  'description-with-breaks': { lines: `description: |+\n  ${X(1020)}\n\n\n\n\n`, rule: 'description-padded' },
  'description-indented': { lines: `description: "  ${X(1023)}"`, rule: 'description-padded' },
  'prototype-as-mapping': saying('"__proto__": { "a": "b" }', 'field-refused'),
  'prototype-as-list': saying('"__proto__": [a]', 'field-refused'),
  'prototype-as-text': saying('"__proto__": text', 'field-refused'),
  'prototype-empty': saying('"__proto__":', 'field-refused'),
  'prototype-below': saying('other: { list: [1, { "__proto__": text }] }', 'field-refused'),
  'description-with-colon': { lines: 'description: Use when: nothing is quoted', rule: 'frontmatter-unquoted' },
  'description-ending-in-colon': { lines: 'description: Use when this ends in a colon:', rule: 'frontmatter-unquoted' },
  'compatibility-with-colon': saying('compatibility: needs: network', 'frontmatter-unquoted'),
  // What every client takes.
  'metadata-none': saying('metadata: {}'),
  'metadata-of-a-reserved-prefix': saying('metadata: { io.modelcontextprotocol/skills: x }'),
  'compatibility-full': saying(`compatibility: ${'\u{1F600}'.repeat(500)}`),
  'compatibility-blank': saying('compatibility: " "'),
  'description-full': { lines: `description: ${'\u{1F600}'.repeat(1024)}`, rule: undefined },
  'description-folded': { lines: `description: >\n  ${X(1023)}`, rule: undefined },
  'license-as-list': saying('license: [MIT]'),
  'license-empty': saying('license:'),
  'tools-as-list': saying('allowed-tools: [Read, "Bash(git:*)"]'),
  'tools-as-mapping': saying('allowed-tools:\n  Read: true'),
  'version-as-number': saying('version: 1.0'),
  'author-as-mapping': saying('author:\n  name: me\n  since: 2020'),
  'keys-of-objects': saying('constructor: 1\ntoString: { "valueOf": [] }\nhasOwnProperty: ~'),
  'hooks-as-lists': saying('hooks:\n  - on: [1, 2.5, true, ~]\n    run:\n      - echo'),
  'key-empty': saying('"": 1'),
  'hint-as-list': saying('argument-hint: [issue, 7]\narguments: { "a": 1 }\nuser-invocable: "yes"'),
  'contract-odd': saying('x-personal-mcp:\n  id: 7\n  icons: [{ src: 1 }, "x"]\n  tags: yes\n  capabilities: []'),
}

/** A SKILL.md of an odd frontmatter. */
export function oddDocument(name: string, { lines }: OddFrontmatter): string {
  return `---\nname: ${name}\n${lines}\n---\n# ${name}\n`
}
