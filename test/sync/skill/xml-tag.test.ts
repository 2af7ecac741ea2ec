import { expect, test } from 'vitest'
import { xmlTagIn } from '../../../src/sync/skill/xml-tag.ts'
import { cpuSeconds } from '../../support/effort.ts'

test.each([
  ['<b>', 'a <b>bold</b> word'],
  ['</b >', 'the end </b > of it'],
  ['<br/>', 'one<br/>two'],
  ['<a href="x>y" id = z>', 'see <a href="x>y" id = z>here</a>'],
  ['<file-name>', 'put it into <file-name>'],
  ['<ns:é>', 'an <ns:é> of another script'],
  ['<!--', 'hidden <!-- a<b'],
  ['<![CDATA[', 'raw <![CDATA[a<b'],
  ['<!DOCTYPE html>', 'a page: <!DOCTYPE html>'],
  ['<?xml version="1.0"?>', '<?xml version="1.0"?> begins it'],
])('%j is the first tag of %j', (tag, text) => {
  expect(xmlTagIn(text)).toBe(tag)
})

test.each([
  'a < b and c > d',
  'a<b and c>d',
  'Map<K, V>',
  'x <- y, x <= y, x <> y',
  '<3',
  'half a <tag',
  'half a <tag id="x"',
  '< b >',
  '<b and c>',
  '<?>',
])('%j holds no tag', (text) => {
  expect(xmlTagIn(text)).toBeUndefined()
})

test.each(['<', '<a ', '<a b=c ', '<a b="', '</a', '<?a', '<!a', '<a\n', "<a b='c' "])(
  'as much of %j as a frontmatter holds is looked through at once',
  (part) => {
    const once = `${part}${'b'.repeat(65_536)}`
    const blanks = `${part}${' '.repeat(65_536)}`

    const before = process.cpuUsage()
    for (const text of [part.repeat(65_536 / part.length), once, blanks]) expect(xmlTagIn(text)).toBeUndefined()

    expect(cpuSeconds(before)).toBeLessThan(2)
  },
)
