/** Lines of frontmatter that are within every limit, and take longer to read than a thousand honest ones. */
export const HEAVY_FRONTMATTERS = {
  'stray braces': `a: ${'}'.repeat(8_000)}`,
  'stray brackets on lines': `a: b\n${']\n'.repeat(4_000)}`,
  commas: `a: [${','.repeat(16_000)}]`,
  anchors: `a: ${'&a '.repeat(8_000)}`,
  tags: `a: ${'!a '.repeat(8_000)}`,
  'escapes that are none': `a: "${'\\q'.repeat(30_000)}"`,
  'empty lists': `a: [${'[],'.repeat(5_400)}]`,
  'empty mappings': `a: [${'{},'.repeat(5_400)}]`,
  'lists in lists': `a: [${`${'['.repeat(28)}${']'.repeat(28)},`.repeat(280)}]`,
  'keys of many levels': manyOf(120, (key) => manyOf(31, (level) => `${' '.repeat(level)}k${level === 0 ? key : ''}:`)),
  'many keys': manyOf(3_900, (key) => `k${key}:`),
  'long values': manyOf(15, (key) => `k${key}: "${'\\u0001'.repeat(700)}"`),
  comments: `a: b\n${'#\n'.repeat(8_000)}`,
} as const

/** A SKILL.md with these lines in its frontmatter. */
export function documentSaying(lines: string, name = 'heavy'): Buffer {
  return Buffer.from(`---\nname: ${name}\ndescription: Weighs much.\n${lines}\n---\nThe body.\n`)
}

function manyOf(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('\n')
}
