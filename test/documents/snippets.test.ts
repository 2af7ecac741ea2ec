import { expect, test } from 'vitest'
import { snippetsIn } from './snippets.ts'

test('a block is found with its line, below a list too, and no code within it is a span', () => {
  const text = 'Run `a\nb` or\n\n1. this:\n\n   ```sh\n   c `d`\n     e\n   ```\n'

  expect(snippetsIn('x.md', text)).toEqual([
    { place: 'x.md:6', language: 'sh', text: 'c `d`\n  e\n' },
    { place: 'x.md:1', language: 'span', text: 'a b' },
  ])
})
