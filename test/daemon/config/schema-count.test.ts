import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// Each schema takes a hundredth of a millisecond of every command.

const DIST = new URL('../../../dist/daemon/', import.meta.url)

test('a file of one source makes few schemas, and one that has more keys makes theirs', async () => {
  const one = 'sources: [{ id: a, path: /skills }]'

  const [plain, withGate] = await schemasFor(one, `${one}\ngate: { command: /bin/true }`)

  expect(plain).toBeGreaterThan(500)
  expect(plain).toBeLessThan(800)
  expect(withGate).toBeGreaterThan(plain!)
})

/** The schemas and checks that a new process has made after each of the texts: zod defines `_zod` once in each. */
async function schemasFor(...texts: readonly string[]): Promise<readonly number[]> {
  const script = `
    const { defineProperty } = Object
    let made = 0
    Object.defineProperty = (...asked) => ((made += asked[1] === '_zod'), defineProperty(...asked))
    const { parseConfig } = await import('${DIST.href}configuration.js')
    const { environmentOf } = await import('${DIST.href}config/environment.js')
    const counts = ${JSON.stringify(texts)}.map((text) => {
      if (Array.isArray(parseConfig(text, 'c.yaml', environmentOf({}, '/home/me')))) throw new Error(text)
      return made
    })
    console.log(JSON.stringify(counts))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return JSON.parse(stdout)
}
