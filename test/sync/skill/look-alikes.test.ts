import { describe, expect, test } from 'vitest'
import { describeLookAlikes, lookAlikesIn } from '../../../src/sync/skill/look-alikes.ts'

describe('a text', () => {
  test.each([
    ['a Cyrillic letter in a Latin word', 'a\nUse p\u0430ypal', '"p\\u{0430}ypal" is not "paypal" at line 2'],
    ['Greek letters in a Latin word', '\u039Fpen s\u03BFrt c\u03B1t', '"\\u{039F}pen" is not "Open" at line 1'],
    ['a word of Cyrillic letters alone', 'Run \u0440\u0430\u0441\u0435 now', 'is not "pace"'],
    ['letters of full width', 'ｒｕｎ this', 'is not "run"'],
    ['letters of mathematics', '𝗿𝗺 𝐬𝐮𝐝𝐨', '"\\u{1D42C}\\u{1D42E}\\u{1D41D}\\u{1D428}" is not "sudo"'],
    ['letters in circles', 'ⓢⓤⓓⓞ', 'is not "sudo"'],
  ])('with %s is found out', (_, text, expected) => {
    expect(describeLookAlikes(lookAlikesIn(text)!)).toContain(expected)
  })

  test.each([
    ['Russian', 'Такси и Git-репозиторий, SQLный запрос, оса'],
    ['Greek', 'Το αρχείο ΕΝΑ και API'],
    ['Japanese with letters of full width', 'ＡＰＩを使う。ＣＰＵ'],
    ['a formula', 'Δx = αA + sinα, μs, kΩ, 𝑓(𝑥) = ℝ'],
    ['Turkish, German and Vietnamese', 'ısı Straße đường naïve'],
    ['signs', 'x² ™ № ½ Ⅷ 🅰️'],
    ['a class of letters', '[a-zA-Zа-яА-ЯёЁ]'],
  ])('of %s has none', (_, text) => {
    expect(lookAlikesIn(text)).toBeUndefined()
  })

  test('of many such words is searched in time, and the first few are shown', () => {
    const found = lookAlikesIn(`${'\u0430bc '.repeat(50_000)}${'ｒｕｎ '.repeat(50_000)}${'\u0430'.repeat(100_000)}`)

    expect(found?.count).toBe(100_001)
    expect(describeLookAlikes(found!).length).toBeLessThan(300)
  })
})
