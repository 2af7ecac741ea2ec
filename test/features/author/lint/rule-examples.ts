import type { LintCode } from '../../../../src/features/author/lint/diagnostic.ts'
import type { Files } from '../../../support/git/scripted-upstream.ts'
import { DESCRIPTION, skillMd, sound } from './linted.ts'
import type { Looked } from './linted.ts'

/** One file that breaks a rule and one that keeps it, and what is said of the first. */
export interface Example {
  readonly rule: LintCode
  readonly bad: Files | string
  /** `file:line:column`, of each diagnostic of this rule. */
  readonly at: readonly string[]
  readonly good: Files | string
  readonly looked?: Looked
}

const block = (lines: readonly string[]): string =>
  sound('a', ['x-personal-mcp:', '  id: a', ...lines.map((line) => `  ${line}`)])
const CAPABILITIES = 'capabilities: ["resource://skills/a/document"]'
const kept = (id: string, dependsOn: readonly string[]): string =>
  sound(id, [
    'x-personal-mcp:',
    `  id: ${id}`,
    '  version: 1.0.0',
    `  depends_on: [${dependsOn.join(', ')}]`,
    `  capabilities: ["resource://skills/${id}/document"]`,
  ])
/** The pointer to a file in git LFS. */
export const LFS = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`

/** An example of each rule. */
export const EXAMPLES: readonly Example[] = [
  { rule: 'frontmatter-missing', bad: '# No frontmatter\n', at: ['a/SKILL.md:1:1'], good: sound('a') },
  { rule: 'frontmatter-unterminated', bad: '---\nname: a\n', at: ['a/SKILL.md:1:1'], good: sound('a') },
  {
    rule: 'frontmatter-invalid',
    bad: skillMd(['name: a', 'description: Use when it fails', 'metadata:', '  author: me: myself']),
    at: ['a/SKILL.md:5:11'],
    good: skillMd(['name: a', 'description: "Use when: it fails: so, and only then"']),
  },
  {
    rule: 'frontmatter-unquoted',
    bad: skillMd(['name: a', 'description: Use when: it fails: so']),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', 'description: "Use when: it fails: so, and only then"']),
  },
  {
    rule: 'frontmatter-too-large',
    bad: sound('a', [`x: ${'x'.repeat(70_000)}`]),
    at: ['a/SKILL.md:1:1'],
    good: sound('a', [`x: ${'x'.repeat(60_000)}`]),
  },
  {
    rule: 'encoding-invalid',
    bad: { 'a/SKILL.md': Buffer.from(skillMd(['name: a', 'description: caf\u00E9']), 'latin1') },
    at: ['a/SKILL.md:3:17'],
    good: skillMd(['name: a', 'description: Use for caf\u00E9s that are larger than others']),
  },
  { rule: 'name-missing', bad: skillMd([DESCRIPTION]), at: ['a/SKILL.md:2:1'], good: sound('a') },
  {
    rule: 'name-invalid',
    bad: skillMd([DESCRIPTION, 'name: PDF Processing']),
    at: ['a/SKILL.md:3:7'],
    good: sound('a'),
  },
  { rule: 'name-unlike-folder', bad: sound('other'), at: ['a/SKILL.md:2:7'], good: sound('a') },
  {
    rule: 'name-clash',
    bad: { 'b/SKILL.md': sound('c'), 'c/SKILL.md': sound('c') },
    at: ['b/SKILL.md:2:7'],
    good: { 'b/SKILL.md': sound('b'), 'c/SKILL.md': sound('c') },
  },
  {
    rule: 'nested-skill',
    bad: { 'a/SKILL.md': sound('a'), 'a/b/SKILL.md': sound('b') },
    at: ['a/b/SKILL.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'b/SKILL.md': sound('b') },
  },
  {
    rule: 'nested-skill',
    bad: { 'SKILL.md': sound('a'), 'x/b/SKILL.md': sound('b') },
    at: ['x/b/SKILL.md:1:1'],
    good: { 'x/a/SKILL.md': sound('a'), 'x/b/SKILL.md': sound('b') },
    looked: { nested: 'as-files' },
  },
  {
    rule: 'description-missing',
    bad: skillMd(['name: a', 'description: ""']),
    at: ['a/SKILL.md:3:14'],
    good: sound('a'),
  },
  {
    rule: 'description-too-long',
    bad: skillMd(['name: a', `description: ${'use '.repeat(300)}`]),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', `description: ${'use '.repeat(256)}`]),
  },
  {
    rule: 'description-padded',
    bad: skillMd(['name: a', 'description: |', `  ${'use '.repeat(256).trim()}.`]),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', 'description: |-', `  ${'use '.repeat(256).trim()}.`]),
  },
  {
    rule: 'metadata-not-text',
    bad: sound('a', ['metadata:', '  author: me', '  level: 3', '  more: [x]']),
    at: ['a/SKILL.md:6:10', 'a/SKILL.md:7:9'],
    good: sound('a', ['metadata:', '  author: me', '  level: "3"']),
  },
  {
    rule: 'metadata-not-text',
    bad: sound('a', ['license: MIT', 'metadata: text']),
    at: ['a/SKILL.md:5:11'],
    good: sound('a', ['license: MIT', 'metadata: {}']),
  },
  {
    rule: 'field-refused',
    bad: sound('a', ['"__proto__": x']),
    at: ['a/SKILL.md:4:1'],
    good: sound('a', ['proto: x']),
  },
  {
    rule: 'hidden-unicode',
    bad: { 'a/SKILL.md': sound('a'), 'a/references/b.md': 'x\n\u{1F600} a\u{202E}b\n' },
    at: ['a/references/b.md:2:5'],
    good: { 'a/SKILL.md': sound('a'), 'a/references/b.md': 'x\n\u{1F600} ab\n' },
  },
  {
    rule: 'unrendered-text',
    bad: sound('a', [], `# A\n\n<!-- ${'do as I say '.repeat(5)}-->\n`),
    at: ['a/SKILL.md:7:1'],
    good: sound('a', [], `# A\n\n\`\`\`html\n<!-- ${'do as I say '.repeat(5)}-->\n\`\`\`\n`),
  },
  {
    rule: 'look-alike-letters',
    bad: sound('a', [], 'Ask p\u0430ypal\n'),
    at: ['a/SKILL.md:1:1'],
    good: sound('a', [], 'Ask paypal\n'),
  },
  {
    rule: 'file-name-case',
    bad: { 'a/Skill.md': sound('a') },
    at: ['a/Skill.md:1:1'],
    good: sound('a'),
  },
  {
    rule: 'limit-files',
    bad: { 'a/SKILL.md': sound('a'), 'a/1': '', 'a/2': '' },
    at: ['a/SKILL.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/1': '' },
    looked: { limits: { skill: { files: 2, bytes: 1000 } } },
  },
  {
    rule: 'limit-bytes',
    bad: { 'a/SKILL.md': sound('a'), 'a/1': 'x'.repeat(1000) },
    at: ['a/SKILL.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/1': 'x' },
    looked: { limits: { skill: { files: 2, bytes: 1000 } } },
  },
  {
    rule: 'withheld-by-default',
    bad: sound('a', [], 'x\u{202E}\n'),
    at: ['a/SKILL.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/b.md': 'x\u{202E}\n' },
  },
  {
    rule: 'document-link-refused',
    bad: { 'a/SKILL.md': { link: '../../b' } },
    at: ['a/SKILL.md:1:1'],
    good: { 'a/SKILL.md': { link: 'there.md' }, 'a/there.md': sound('a') },
  },
  {
    rule: 'link-refused',
    bad: { 'a/SKILL.md': sound('a'), 'a/b': { link: '../../b' } },
    at: ['a/b:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/b': { link: 'SKILL.md' } },
  },
  { rule: 'lfs-pointer', bad: { 'a/SKILL.md': sound('a'), 'a/b.png': LFS }, at: ['a/b.png:1:1'], good: sound('a') },
  {
    rule: 'path-collision',
    bad: { 'a/SKILL.md': sound('a'), 'a/b.txt': '', 'a/B.txt': '' },
    at: ['a/b.txt:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/b.txt': '' },
  },
  {
    rule: 'path-refused',
    bad: { 'a/SKILL.md': sound('a'), 'a/b\\c': '' },
    at: ['a/b\\c:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/b-c': '' },
  },
  {
    rule: 'contract-violated',
    bad: block(['version: 1.0', CAPABILITIES]),
    at: ['a/SKILL.md:6:12'],
    good: block(['version: 1.0.0', CAPABILITIES]),
    looked: { contract: true },
  },
  {
    // As in a source that offers the contract: served, but not at resource://.
    rule: 'contract-noted',
    bad: block(['version: 1.0', CAPABILITIES]),
    at: ['a/SKILL.md:5:3', 'a/SKILL.md:6:12'],
    good: block(['version: 1.0.0', CAPABILITIES]),
  },
  {
    rule: 'contract-noted',
    bad: sound('a', ['when_to_use: 1', 'x-personal-mcp:', '  id: a', '  version: 1.0.0', `  ${CAPABILITIES}`]),
    at: ['a/SKILL.md:6:3'],
    good: sound('a', ['when_to_use: 1']),
  },
  {
    rule: 'contract-noted',
    bad: { 'x/a/SKILL.md': kept('a', []), 'y/a/SKILL.md': kept('a', []) },
    at: ['x/a/SKILL.md:5:7', 'y/a/SKILL.md:5:7'],
    good: { 'x/a/SKILL.md': kept('a', []), 'y/b/SKILL.md': kept('b', []) },
  },
  {
    rule: 'contract-noted',
    bad: { 'a/SKILL.md': kept('a', ['b']), 'b/SKILL.md': kept('b', ['a']) },
    at: ['a/SKILL.md:7:15', 'b/SKILL.md:7:15'],
    good: { 'a/SKILL.md': kept('a', ['b']), 'b/SKILL.md': kept('b', []) },
  },
  {
    rule: 'contract-violated',
    bad: sound('a'),
    at: ['a/SKILL.md:2:1'],
    good: block(['version: 1.0.0', CAPABILITIES]),
    looked: { contract: true },
  },
  {
    rule: 'contract-violated',
    bad: block(['version: 1.0.0', 'references:', `    ${'x'.repeat(65)}: 1`, CAPABILITIES]),
    at: [`a/SKILL.md:8:${7 + 65 + 2}`],
    good: block(['version: 1.0.0', CAPABILITIES]),
    looked: { contract: true },
  },
  {
    rule: 'contract-violated',
    bad: sound('a', ['when_to_use: 1']),
    at: ['a/SKILL.md:2:1', 'a/SKILL.md:4:14'],
    good: block(['version: 1.0.0', CAPABILITIES]),
    looked: { contract: true },
  },
  {
    rule: 'contract-noted',
    bad: block(['version: 1.0.0', 'tags: [Large]', CAPABILITIES]),
    at: ['a/SKILL.md:7:10'],
    good: block(['version: 1.0.0', 'tags: [large]', CAPABILITIES]),
  },
  {
    rule: 'id-clash',
    bad: { 'x/a/SKILL.md': kept('a', []), 'y/a/SKILL.md': kept('a', []) },
    at: ['x/a/SKILL.md:5:7', 'y/a/SKILL.md:5:7'],
    good: { 'x/a/SKILL.md': kept('a', []), 'y/b/SKILL.md': kept('b', []) },
    looked: { contract: true },
  },
  {
    rule: 'dependency-missing',
    bad: { 'a/SKILL.md': kept('a', ['b']) },
    at: ['a/SKILL.md:7:15'],
    good: { 'a/SKILL.md': kept('a', ['b']), 'b/SKILL.md': kept('b', []) },
  },
  {
    rule: 'dependency-cycle',
    bad: { 'a/SKILL.md': kept('a', ['b']), 'b/SKILL.md': kept('b', ['a']) },
    at: ['a/SKILL.md:7:15', 'b/SKILL.md:7:15'],
    good: { 'a/SKILL.md': kept('a', ['b']), 'b/SKILL.md': kept('b', []) },
    looked: { contract: true },
  },
  {
    rule: 'skill-ignored',
    bad: { '.gitignore': 'a/\n', 'a/SKILL.md': sound('a'), 'b/SKILL.md': sound('b') },
    at: ['a/SKILL.md:1:1'],
    good: { '.gitignore': 'c/\n', 'a/SKILL.md': sound('a') },
  },
  {
    rule: 'compatibility-invalid',
    bad: sound('a', [`compatibility: ${'x'.repeat(501)}`]),
    at: ['a/SKILL.md:4:16'],
    good: sound('a', [`compatibility: ${'x'.repeat(500)}`]),
  },
  {
    rule: 'license-not-text',
    bad: sound('a', ['license: [MIT]']),
    at: ['a/SKILL.md:4:10'],
    good: sound('a', ['license: MIT']),
  },
  {
    rule: 'allowed-tools-not-text',
    bad: sound('a', ['allowed-tools:', '  - Read', '  - 7']),
    at: ['a/SKILL.md:5:3'],
    good: sound('a', ['allowed-tools:', '  - Read']),
  },
  {
    rule: 'allowed-tools-list',
    bad: sound('a', ['allowed-tools:', '  - Read']),
    at: ['a/SKILL.md:5:3'],
    good: sound('a', ['allowed-tools: Read Grep']),
  },
  {
    rule: 'field-empty',
    bad: sound('a', ['license:', 'allowed-tools: ""']),
    at: ['a/SKILL.md:4:9', 'a/SKILL.md:5:16'],
    good: sound('a', ['license: MIT', 'other:']),
  },
  {
    rule: 'tags-in-text',
    bad: skillMd(['name: a', 'description: Use when <system>asked</system> to count the beans']),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', 'description: Use when beans < 3 and beans > 1, or a<b and c>d, are to be counted']),
  },
  {
    rule: 'lifecycle-invalid',
    bad: sound('a', ['metadata:', '  deprecated: true', '  replaced-by: "no name"', '  depends_on: "B"']),
    at: ['a/SKILL.md:5:15', 'a/SKILL.md:6:16', 'a/SKILL.md:7:15'],
    good: sound('a', ['metadata:', '  deprecated: "true"', '  replaced-by: skill://team/b/SKILL.md', '  owner: team']),
  },
  {
    rule: 'yaml-ambiguous',
    bad: sound('a', [
      'when: 2024-01-01',
      'eight: 010',
      'open: yes',
      'at: 12:30',
      'many: 1_000',
      'octal: 0o10',
      'hash: 12e5',
      'bits: 0b11',
      'off: x',
      'list: [no, true]',
      'then: 2024-01-01   10:00:00  +1',
      'low: +0x1f',
      'part: 1.0_5',
      'less: -.5',
      'default: =',
      'merge: <<',
      'map: {1.0: a, ~: b, true: c}',
    ]),
    at: '4:7 5:8 6:7 7:5 8:7 9:8 10:7 11:7 12:1 13:8 14:7 15:6 16:7 17:7 18:10 19:8 20:7 20:15 20:21'
      .split(' ')
      .map((at) => `a/SKILL.md:${at}`),
    good: sound('a', [
      'when: "2024-01-01"',
      "eight: '010'",
      'open: true',
      'at: "12:30"',
      'many: 1000',
      'v: 1.2.3',
      'ratio: 0.5',
      'nothing: ~',
      'text: yes, please',
      'tagged: !!str 010',
      'minutes: 2024-01-01 10:00',
      'block: |',
      '  yes',
    ]),
  },
  {
    rule: 'yaml-number',
    bad: sound('a', ['version: 1.10']),
    at: ['a/SKILL.md:4:10'],
    good: sound('a', ['version: "1.10"', 'n: 1.1', 'm: 3']),
  },
  {
    rule: 'yaml-merge-key',
    bad: sound('a', ['hooks:', '  <<: {x: z}']),
    at: ['a/SKILL.md:5:3'],
    good: sound('a', ['hooks:', '  "<<": {x: z}']),
  },
  {
    rule: 'yaml-tag',
    bad: sound('a', ['x: !!str 010', 'y1: !!map {b: c}', '!!str z: ! d']),
    at: ['a/SKILL.md:4:10', 'a/SKILL.md:5:11', 'a/SKILL.md:6:7', 'a/SKILL.md:6:12'],
    good: sound('a', ['x: "!!str 010"', 'z: a !!str']),
  },
  {
    rule: 'yaml-subset',
    bad: sound('a', ['x: "one', '  two"', 'y: [1]']),
    at: ['a/SKILL.md:4:1'],
    good: sound('a', ['x: "one two"', 'y: >', '  one', '  two', 'z: [1, {b: c}]', 'n: 0x1F', 'e:']),
  },
  {
    rule: 'yaml-comment',
    bad: skillMd(['name: a', 'description: Use for issues such as bug #12 and others #bug']),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', 'description: "Use for issues such as bug #12"', 'license: MIT # see LICENSE']),
  },
  {
    rule: 'description-no-when',
    bad: skillMd(['name: a', 'description: Counts beans in jars, boxes and bags']),
    at: ['a/SKILL.md:3:14'],
    good: skillMd(['name: a', 'description: Counts beans in jars', 'when_to_use: a jar is shown']),
  },
  {
    rule: 'description-short',
    bad: skillMd(['name: a', 'description: Use for beans']),
    at: ['a/SKILL.md:3:14'],
    good: sound('a'),
  },
  {
    rule: 'body-long',
    bad: sound('a', [], 'x\n'.repeat(501)),
    at: ['a/SKILL.md:505:1'],
    good: sound('a', [], 'x\n'.repeat(500)),
  },
  {
    rule: 'body-tokens',
    bad: sound('a', [], `${'豆'.repeat(5_001)}\n`),
    at: ['a/SKILL.md:5:1'],
    good: sound('a', [], `${'bean'.repeat(4_999)}\n`),
  },
  {
    rule: 'link-leaves-skill',
    bad: sound('a', [], 'See [b](../b/SKILL.md), [c](/etc/c) and <file:///d>.\n'),
    at: ['a/SKILL.md:5:9', 'a/SKILL.md:5:29', 'a/SKILL.md:5:42'],
    good: {
      'a/SKILL.md': sound('a', [], 'See [b](https://example.com/b) and [c](references/c.md).\n'),
      'a/references/c.md': 'Back to [a](../SKILL.md#do-it).\n',
    },
  },
  {
    rule: 'link-target-missing',
    bad: sound('a', [], '- ![b](assets/b%20c.png)\n- [d]\n\n[d]: references/d.md\n'),
    at: ['a/SKILL.md:5:8', 'a/SKILL.md:8:6'],
    good: {
      'a/SKILL.md': sound(
        'a',
        [],
        '![b](assets/b%20c.png "B")\n\n`[x](y.md)` [d](./references/)\n\n```\n[z](z.md)\n```\n',
      ),
      'a/assets/b c.png': '',
      'a/references/d.md': '',
    },
  },
  {
    rule: 'folder-name',
    bad: { 'a/SKILL.md': sound('a'), 'a/reference/b.md': '', 'a/reference/c.md': '' },
    at: ['a/reference/b.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/references/b.md': '', 'a/examples/c.md': '' },
  },
  {
    rule: 'script-outside-scripts',
    bad: { 'a/SKILL.md': sound('a'), 'a/run.sh': { executable: '#!/bin/sh\n' } },
    at: ['a/run.sh:1:1'],
    good: {
      'a/SKILL.md': sound('a'),
      'a/scripts/run.sh': { executable: '#!/bin/sh\n' },
      'a/lib.py': '',
      'a/LICENSE': { executable: '' },
      'a/README.md': { executable: '' },
      'a/picture.png': { executable: '' },
      'a/.gitignore': { executable: '' },
    },
  },
  {
    rule: 'script-in-references',
    bad: { 'a/SKILL.md': sound('a'), 'a/references/run.sh': { executable: '#!/bin/sh\n' } },
    at: ['a/references/run.sh:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/references/b.json': { executable: '' }, 'a/references/c.sh': '#!/bin/sh\n' },
  },
  {
    rule: 'text-in-scripts',
    bad: { 'a/SKILL.md': sound('a'), 'a/scripts/guide.md': '' },
    at: ['a/scripts/guide.md:1:1'],
    good: { 'a/SKILL.md': sound('a'), 'a/scripts/README.md': '' },
  },
  {
    rule: 'unknown-field',
    bad: sound('a', ['version: 1.0.0']),
    at: ['a/SKILL.md:4:1'],
    good: sound('a', ['license: MIT']),
    looked: { level: 'skills-ref' },
  },
  {
    rule: 'skeleton-text',
    bad: skillMd(['name: a', 'description: "Describe here what the skill does. Use when a task needs exactly that."']),
    at: ['a/SKILL.md:3:15'],
    good: sound('a'),
  },
  {
    rule: 'flow-style',
    bad: sound('a', ['metadata: {a: b}']),
    at: ['a/SKILL.md:4:11'],
    good: sound('a', ['metadata:', '  a: b']),
    looked: { level: 'skills-ref' },
  },
  {
    rule: 'byte-order-mark',
    bad: `\u{FEFF}${sound('a')}`,
    at: ['a/SKILL.md:1:1'],
    good: sound('a'),
    looked: { level: 'skills-ref' },
  },
  {
    rule: 'dashes-in-frontmatter',
    bad: sound('a', ['license: MIT --- mostly']),
    at: ['a/SKILL.md:4:14'],
    good: sound('a', ['license: MIT -- mostly']),
    looked: { level: 'skills-ref' },
  },
]

/** A plain folder has no submodule, archives are made of what is served, and nothing stays that was not there before. */
export const NEVER_HERE: ReadonlySet<LintCode> = new Set<LintCode>([
  'submodule',
  'archive-refused',
  // Here every pointer is an error.
  'lfs-left-out',
  'docs-missing',
  // Of a repository, and not of a skill.
  'marketplace-unread',
  'marketplace-differs',
  'plugin-refused',
  'not-read',
  'kept-version',
  // Of what other MCP servers list.
  'entry-refused',
  'listing-incomplete',
  'no-answer-for-entry',
  'size-unknown',
  'not-verifiable',
  'content-mismatch',
])

/** The files of one side of an example. */
export function filesOf(example: Files | string): Files {
  return typeof example === 'string' ? { 'a/SKILL.md': example } : example
}
