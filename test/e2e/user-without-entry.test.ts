import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
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

    const { stdout } = await place.run(['sync', ...place.named], { HOME: home })

    expect(stdout).toContain('team: updated')
  })

  test.each([['status'], ['sync'], ['link', 'claude-code']])('%s names HOME where it needs it', async (...args) => {
    await using place = await ownedFolder()
    const named = args.length > 1 ? place.named : ['--config', place.config]

    const failed = await place.run([...args, ...named]).catch((error: unknown) => error)

    expect(failed).toMatchObject({ code: 2, stderr: expect.stringMatching(/^skillsyncd: .*HOME/) })
  })

  test('what needs no home is done without one', async () => {
    await using place = await ownedFolder()
    const own = join(place.path, 'own.yaml')
    const more = join(place.path, 'more')
    await place.fill(more)
    await writeFile(place.config, `state: ${place.state}\n`, { flag: 'a' })
    const named = ['--config', place.config]
    const folder = join(place.path, 'linked')

    await place.run(['add', '--config', own, '--offline', 'acme/skills'])
    await place.run(['add', more, '--id', 'more', ...named])
    await place.run(['remove', 'more', ...named])
    await place.run(['sync', ...named])
    await place.run(['link', '--once', '--to', folder, ...named])
    const listed = await place.run(['link', ...named])
    const unlinked = await place.run(['link', '--remove', '--all', ...named])
    await place.run(['add', '--config', 'skillsyncd.yaml', '--offline', 'acme/here'])

    expect(await readFile(place.config, 'utf8')).toContain('acme/here')
    expect(await readFile(own, 'utf8')).toContain('acme/skills')
    expect(listed.stdout).toContain(folder)
    expect(unlinked.stdout).toContain('pdf')
    expect(await readdir(place.path)).not.toContain('linked')
  })

  test('the configuration is edited with the state folder that the command names', async () => {
    await using place = await ownedFolder()
    const more = join(place.path, 'more')
    await place.fill(more)

    await place.run(['add', more, '--id', 'more', ...place.named])
    await place.run(['remove', 'more', ...place.named])

    expect(await readFile(place.config, 'utf8')).not.toContain('more')
  })

  test('the folder of an agent that an environment variable names is filled and followed', async () => {
    await using place = await ownedFolder()
    const claude = join(place.path, 'claude')
    await mkdir(claude)
    await chown(claude, USER, USER)
    await writeFile(place.config, 'links: [claude-code]\n', { flag: 'a' })

    await place.run(['link', '--once', 'claude-code', ...place.named], { CLAUDE_CONFIG_DIR: claude })
    const { stderr } = await place.run(['sync', ...place.named], { CLAUDE_CONFIG_DIR: claude })

    expect(stderr).not.toContain('folders-not-followed')
    expect(await readdir(join(claude, 'skills'))).toContain('pdf')
  })

  test.each([
    ['codex', 2],
    ['{ agent: codex, copy: true }', 2],
  ])('links: [%s] is refused with its line by a start and by a reload, and the daemon goes on', async (entry, code) => {
    await using place = await ownedFolder()
    await writeFile(place.config, `state: ${place.state}\nserve: { http: { port: 0 } }\n`, { flag: 'a' })
    const named = ['--config', place.config]
    const refusal = /skillsyncd\.yaml:5:\d+: links\[0\]: .*set HOME, or name the folder with `to`/
    await using daemon = await place.start(named)
    await writeFile(place.config, `links: [${entry}]\n`, { flag: 'a' })

    const reloaded = await place.run(['reload', ...named]).catch((error: unknown) => error)
    const started = await place.run(['start', ...named]).catch((error: unknown) => error)
    const synced = await place.run(['sync', ...named]).catch((error: unknown) => error)

    for (const end of [reloaded, started, synced])
      expect(end).toMatchObject({ code, stderr: expect.stringMatching(refusal) })
    expect(daemon.isRunning).toBe(true)
  })

  test.each([['--once'], ['--remove']])('link %s of an agent names the option that needs no home', async (option) => {
    await using place = await ownedFolder()

    const failed = await place.run(['link', option, 'codex', ...place.named]).catch((error: unknown) => error)

    expect(failed).toMatchObject({ code: 2, stderr: expect.stringMatching(/folder of codex.*set HOME, or .*--to/) })
  })

  test('decisions are by the number of the user', async () => {
    const script = `const { userName } = await import(${JSON.stringify(ENVIRONMENT_MODULE)}); console.log(userName())`

    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { uid: USER, gid: USER })

    expect(stdout).toBe(`${USER}\n`)
  })
})

const COMMANDS = [['sync'], ['status'], ['list'], ['doctor', '--offline'], ['hub', 'token', 'list'], ['verify']]

async function ownedFolder() {
  const folder = await temporaryFolder()
  const skill = join(folder.path, 'skills', 'pdf')
  const [config, state] = [join(folder.path, 'skillsyncd.yaml'), join(folder.path, 'state')]
  const fill = async (path: string): Promise<void> => {
    await mkdir(path, { recursive: true })
    await writeFile(join(path, 'SKILL.md'), '---\nname: pdf\ndescription: Reads and fills PDF forms.\n---\nText.\n')
    await chown(path, USER, USER)
  }
  await fill(skill)
  await writeFile(config, `sources:\n  - { id: team, path: ${join(folder.path, 'skills')} }\n`)
  await mkdir(state)
  await chmod(state, 0o700)
  for (const path of [folder.path, join(folder.path, 'skills'), state, config]) await chown(path, USER, USER)
  const asUser = { uid: USER, gid: USER, cwd: folder.path, env: { PATH: process.env['PATH'] } }
  return {
    path: folder.path,
    config,
    state,
    fill,
    named: ['--config', config, '--state', state],
    run: async (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
      run(process.execPath, [PROGRAM, ...args], { ...asUser, env: { ...asUser.env, ...more } }),
    /** Resolves when it serves. */
    start: async (named: readonly string[]) => {
      const daemon = spawn(process.execPath, [PROGRAM, 'start', ...named], {
        ...asUser,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(daemon, 'exit')
      await once(daemon.stdout, 'data')
      return {
        get isRunning() {
          return daemon.exitCode === null && daemon.signalCode === null
        },
        async [Symbol.asyncDispose]() {
          daemon.kill()
          await ended
        },
      }
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  }
}
