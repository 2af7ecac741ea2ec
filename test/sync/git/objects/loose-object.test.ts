import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openLoose } from '../../../../src/sync/git/objects/loose-object.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const run = promisify(execFile)

test('a pipe in place of an object is refused, and holds up nothing', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'object')
  await run('mkfifo', [path])
  const module = new URL('../../../../dist/sync/git/objects/loose-object.js', import.meta.url)
  const script = `import { openLoose } from '${module.href}'; try { openLoose(process.argv[1]) } catch (error) { console.log(error.code) }`

  // A process of its own: a thread that waits for the other end of a pipe cannot be ended.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script, path], { timeout: 60_000 })

  expect(stdout.trim()).toBe('ESPIPE')
})

test('an object that is not there is none, and its folder need not be there either', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'file')
  await writeFile(file, '')

  expect(openLoose(join(folder.path, 'none'))).toBeUndefined()
  expect(openLoose(join(folder.path, 'aa', 'none'))).toBeUndefined()
  expect(openLoose(join(file, 'none'))).toBeUndefined()
  expect(() => openLoose(file)).toThrow(/unexpected end of file|no header/)
})
