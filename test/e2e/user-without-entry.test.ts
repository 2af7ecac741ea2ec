import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('../../dist/program/main.js', import.meta.url))
const ENVIRONMENT_MODULE = new URL('../../dist/daemon/config/process-environment.js', import.meta.url).href
const IS_ROOT = process.getuid?.() === 0

/** No user database has this number, as in a container of a cluster that gives each project its own range. */
const USER = 1_000_680_000

describe.skipIf(!IS_ROOT)(`a user without an entry in the user database${IS_ROOT ? '' : ' (needs root)'}`, () => {
  test('with all folders named, no command needs a home', async () => {
    await using place = await ownedFolder()

    for (const [command, ...more] of COMMANDS) await place.run([command ?? '', ...place.named, ...more])

    const listed = JSON.parse((await place.run(['list', '--json', ...place.named])).stdout)
    expect(listed.skills ?? listed).toHaveLength(1)
  })

  test.each(['', 'relative'])('HOME %j is no home, and harms nothing', async (home) => {
    await using place = await ownedFolder()

    const { stdout } = await place.run(['sync', ...place.named], home)

    expect(stdout).toContain('team: updated')
  })

  test.each([['status'], ['sync'], ['link', 'claude-code']])('%s names HOME where it needs it', async (...args) => {
    await using place = await ownedFolder()
    const named = args.length > 1 ? place.named : ['--config', place.config]

    const failed = await place.run([...args, ...named]).catch((error: unknown) => error)

    expect(failed).toMatchObject({ code: 2, stderr: expect.stringMatching(/^skillsyncd: .*HOME/) })
  })

  test('decisions are by the number of the user', async () => {
    const script = `const { userName } = await import(${JSON.stringify(ENVIRONMENT_MODULE)}); console.log(userName())`

    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { uid: USER, gid: USER })

    expect(stdout).toBe(`${USER}\n`)
  })
})

const COMMANDS = [['sync'], ['status'], ['list'], ['doctor', '--offline'], ['token', 'list'], ['verify']]

async function ownedFolder() {
  const folder = await temporaryFolder()
  const skill = join(folder.path, 'skills', 'pdf')
  const [config, state] = [join(folder.path, 'skillsyncd.yaml'), join(folder.path, 'state')]
  await mkdir(skill, { recursive: true })
  await writeFile(join(skill, 'SKILL.md'), '---\nname: pdf\ndescription: Reads and fills PDF forms.\n---\nText.\n')
  await writeFile(config, `sources:\n  - { id: team, path: ${join(folder.path, 'skills')} }\n`)
  await mkdir(state)
  await chmod(state, 0o700)
  for (const path of [folder.path, join(folder.path, 'skills'), skill, state, config]) await chown(path, USER, USER)
  return {
    config,
    state,
    named: ['--config', config, '--state', state],
    run: async (args: readonly string[], home?: string) =>
      run(process.execPath, [PROGRAM, ...args], {
        uid: USER,
        gid: USER,
        cwd: folder.path,
        env: { PATH: process.env['PATH'], ...(home !== undefined && { HOME: home }) },
      }),
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  }
}
