import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { looksLikeSecret } from '../../src/daemon/config/rules/config-error.ts'
import { VERSION } from '../../src/serve/version.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { NpmRegistry, publishing } from '../support/http/npm-registry.ts'
import { Home, Program } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Loaded machines take their time to unpack; nothing is measured here. */
const INSTALL_MS = 300_000

describe('what npm pack makes', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  /** Where the package is installed, as `npm install --global` does it. */
  let prefix: string
  let packed: readonly string[]
  let archive: Buffer
  let manifest: { readonly version: string }

  beforeAll(async () => {
    folder = await temporaryFolder()
    prefix = join(folder.path, 'prefix')
    const staged = join(folder.path, 'staged')
    await stage(staged)
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder.path], {
      cwd: staged,
    })
    const [{ filename, files }] = JSON.parse(stdout)
    packed = files.map(({ path }: { readonly path: string }) => path)
    const home = join(folder.path, 'home')
    await mkdir(home)
    archive = await readFile(join(folder.path, filename))
    manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    // It comes from a registry, as users have it.
    await using registry = await NpmRegistry.start(publishing('@loopback/skillsyncd', manifest, archive))
    const args = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--ignore-scripts', '--no-audit']
    // In an empty home npm still has to know from where this machine has its packages, and through which proxy.
    const env = { ...process.env, ...(await npmSettings()), HOME: home }
    const from = ['--no-fund', `--@loopback:registry=${registry.url}`, 'skillsyncd@npm:@loopback/skillsyncd']
    await run('npm', [...args, ...from], { cwd: home, env, timeout: INSTALL_MS })
  }, INSTALL_MS + 60_000)

  afterAll(() => folder[Symbol.asyncDispose]())

  test('holds the program, what it is run with and what is read about it, and nothing else', () => {
    const kinds = new Set(packed.map((path) => path.split('/')[0]))

    expect(kinds).toEqual(
      new Set([
        'ARCHITECTURE.md',
        'CHANGELOG.md',
        'CONTRIBUTING.md',
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'bench',
        'config',
        'dist',
        'docs',
        'examples',
        'man',
        'package.json',
        'server.json',
        'systemd',
      ]),
    )
    for (const path of [
      'dist/program/licenses.txt',
      'dist/program/main.js',
      'dist/sbom.cdx.json',
      'config/commands.schema.json',
      'config/skillsyncd.schema.json',
      'man/skillsyncd.1',
    ])
      expect(packed).toContain(path)
    expect(packed.filter((path) => /\.map$|\.test\.|(?:^|\/)\./.test(path))).toEqual([])
  })

  test('has whatever its documents link to', async () => {
    const folders = new Set(packed.flatMap((path) => pathsAbove(path)))
    const documents = packed.filter((path) => path.endsWith('.md'))
    const dead: string[] = []
    for (const path of documents) {
      const text = await readFile(join(root, path), 'utf8')
      for (const [, to = ''] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
        const target = join(dirname(path), to).replace(/\/$/, '')
        if (!/^[a-z]+:/.test(to) && !packed.includes(target) && !folders.has(target)) dead.push(`${path}: ${to}`)
      }
    }

    expect(documents.length).toBeGreaterThan(30)
    expect(dead).toEqual([])
  })

  test(
    'is a dependency of a project in which npm ci does what npm install did',
    async () => {
      const project = join(folder.path, 'project')
      await mkdir(project)
      await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true }))
      await using registry = await NpmRegistry.start(publishing('@loopback/skillsyncd', manifest, archive))
      const env = { ...process.env, ...(await npmSettings()), HOME: join(folder.path, 'home') }
      const settings = [
        '--prefer-offline',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `--@loopback:registry=${registry.url}`,
      ]
      const npm = async (...args: string[]): Promise<unknown> =>
        run('npm', [...args, ...settings], { cwd: project, env, timeout: INSTALL_MS })

      await npm('install', '--save-dev', 'skillsyncd@npm:@loopback/skillsyncd')
      await rm(join(project, 'node_modules'), { recursive: true })
      await npm('ci')
      const { stdout } = await run(join(project, 'node_modules/.bin/skillsyncd'), ['--version'])

      expect(stdout).toMatch(`skillsyncd ${VERSION}\n`)
    },
    2 * INSTALL_MS,
  )

  test('names no folder of the machine that packed it, and holds no secret', async () => {
    const at = join(prefix, 'lib/node_modules/skillsyncd')
    const texts = await Promise.all(packed.map(async (path) => [path, await readFile(join(at, path), 'utf8')] as const))

    // Words of the rules that find secrets, in the program itself and in what explains it, are none.
    const told = texts.filter(([path, text]) => text.includes(root) || (!path.startsWith('dist/') && hasSecret(text)))

    expect(texts.length).toBeGreaterThan(100)
    expect(told.map(([path]) => path)).toEqual([])
  })

  test('is installed alone: no other package comes with it', async () => {
    const at = join(prefix, 'lib/node_modules')

    expect(await readdir(at)).toEqual(['skillsyncd'])
    await expect(readdir(join(at, 'skillsyncd/node_modules'))).rejects.toThrow('ENOENT')
  })

  test('brings its manual page to where man looks', async () => {
    expect(await readdir(join(prefix, 'share/man/man1'))).toEqual(['skillsyncd.1'])
  })

  test('in an empty home it says its version, writes a configuration, starts, serves a client, and stops', async () => {
    await using home = await Home.create()
    await using repository = await Repository.create()
    const skill = await readFile(join(root, 'examples/skills/git-bisect/SKILL.md'))
    await repository.commit({ 'skills/git-bisect/SKILL.md': skill })
    home.env['PATH'] = `${join(prefix, 'bin')}:${dirname(process.execPath)}:${home.env['PATH']}`
    const skillsyncd = (...args: string[]): Program => new Program('skillsyncd', args, home)

    const version = await skillsyncd('--version').ended()
    const init = await skillsyncd('add', repository.folder).ended()
    const daemon = skillsyncd('start', '--port', '0')
    const url = await daemon.line()
    await daemon.said((line) => line.includes('source-updated'))
    const served = await listed(url)
    const status = await skillsyncd('status', '--json').ended()
    const end = await daemon.stop()

    expect(version).toMatchObject({ status: 0, stdout: expect.stringContaining(`skillsyncd ${VERSION}\n`) })
    expect(init).toMatchObject({ status: 0, stdout: expect.stringContaining('skillsyncd start') })
    expect(served).toContain('git-bisect/SKILL.md')
    expect(JSON.parse(status.stdout).daemon.pid).toBe(daemon.pid)
    expect(end).toMatchObject({ status: 0 })
  })
})

async function listed(url: string): Promise<string> {
  await using peer = await modernHttp(url)
  return JSON.stringify((await peer.call('skills/list')).result)
}

function pathsAbove(path: string): readonly string[] {
  const above = dirname(path)
  return above === '.' ? [] : [above, ...pathsAbove(above)]
}

/** Copies what is packed, and makes what `prepack` does, but for the build: it would take that of this run away from other tests. */
async function stage(folder: string): Promise<void> {
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const kept = files.filter((path: string) => !path.startsWith('!') && path !== 'dist/sbom.cdx.json')
  for (const path of ['package.json', 'README.md', 'LICENSE', ...kept])
    await cp(join(root, path), join(folder, path), { recursive: true })
  await run(process.execPath, ['.ci/sbom.mjs', join(folder, 'dist/sbom.cdx.json')], { cwd: root })
}

async function npmSettings(): Promise<Record<string, string>> {
  const { stdout } = await run('npm', ['config', 'get', 'cache', 'userconfig', 'registry'], { cwd: root })
  const settings = [...stdout.matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value = '']) => [`npm_config_${name}`, value])
  return Object.fromEntries(settings)
}

function hasSecret(text: string): boolean {
  return text.split('\n').some(looksLikeSecret)
}
