import { expect, test } from 'vitest'
import { Memo } from '../../src/base/memo.ts'

test('what is made of a value is made once, and anew when it was forgotten', () => {
  const [one, other] = [{}, {}]
  let made = 0
  const texts = new Memo<object, string>()
  const text = (of: object): string => texts.of(of, () => `made ${(made += 1)}`)

  expect([text(one), text(one), text(other), text(one)]).toEqual(['made 1', 'made 1', 'made 2', 'made 1'])
  texts.forget(one)
  expect([text(one), text(other)]).toEqual(['made 3', 'made 2'])
})

test('an empty text is made once too', () => {
  const [from, texts] = [{}, new Memo<object, string>()]
  texts.of(from, () => '')

  expect(texts.of(from, () => 'again')).toBe('')
})
