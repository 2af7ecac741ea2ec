import { expect, test } from 'vitest'
import { contentsOf } from '../../../../src/features/mcp-sources/upstream/contents.ts'

test.each([0, 1, 2, 3, 4, 5, 6, 7])('no blob and no text of %i bytes comes through a bound that is lower', (size) => {
  const bytes = Buffer.alloc(size, 'x')
  const forms = [{ text: bytes.toString() }, { blob: bytes.toString('base64') }]

  const within = forms.map((form) => contentsOf({ contents: [form] }, size))
  const over = forms.map((form) => contentsOf({ contents: [form] }, size - 1))

  expect(within).toEqual([{ bytes }, { bytes }])
  expect(over).toMatchObject([{ isTooLarge: true }, { isTooLarge: true }])
})
