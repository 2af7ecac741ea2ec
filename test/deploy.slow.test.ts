import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments, parseDocument } from 'yaml'
import { optionsOf } from '../src/daemon/cli/help.ts'
import { COMMANDS } from '../src/daemon/command-table.ts'
import { environmentOf } from '../src/daemon/config/environment.ts'
import { parseConfig } from '../src/daemon/configuration.ts'
import { exchange, modern } from './conformance/exchange.ts'
import { GitServer } from './support/git/git-server.ts'
import { Repository } from './support/git/repository.ts'
import { Home } from './support/process/program.ts'
import { temporaryFolder } from './support/temporary.ts'

// No engine of containers and no cluster is needed: what of these files the program has to keep is run as they say it.

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const containerfile = await textOf('examples/container/Containerfile')
const manifest = parseAllDocuments(await textOf('examples/kubernetes/skillsyncd.yaml')).map((document) => {
  if (document.errors.length > 0) throw new Error(document.errors.join('\n'))
  return document.toJS()
})
const set = manifest.find(({ kind }) => kind === 'StatefulSet')
const pod = set.spec.template.spec
const containers = [...pod.initContainers, ...pod.containers]
const configMap = manifest.find(({ kind }) => kind === 'ConfigMap')
const packageJson = JSON.parse(await textOf('package.json'))

describe('examples/container', () => {
  test('the base is an exact version, and not older than the Node that is developed with', () => {
    const [, version = ''] = /^ARG NODE=(\d+\.\d+\.\d+)-bookworm-slim$/m.exec(containerfile) ?? []

    expect(version).toBe(packageJson.devDependencies.node)
    expect(containerfile.match(/^FROM .+$/gm)).toEqual([
      'FROM docker.io/library/node:${NODE} AS build',
      'FROM docker.io/library/node:${NODE}',
    ])
  })

  test('it runs as nobody in particular, and no npm stands between it and signals', () => {
    expect(containerfile).toMatch(/^USER 1000:1000$/m)
    expect(jsonOf('ENTRYPOINT')).toEqual(['/usr/bin/tini', '--', 'skillsyncd'])
    for (const program of ['git', 'openssh-client', 'tini'])
      expect(containerfile).toMatch(new RegExp(`install.*\\b${program}\\b`))
    expect(containerfile.indexOf('USER 1000')).toBeGreaterThan(containerfile.lastIndexOf('RUN '))
  })

  test('what the build copies exists, and is let through', async () => {
    const copied = [...containerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    const letThrough = [...(await textOf('examples/container/Containerfile.dockerignore')).matchAll(/^!(.+)$/gm)]

    expect(copied.length).toBeGreaterThan(3)
    expect(new Set(letThrough.map(([, name]) => name))).toEqual(new Set(copied))
    for (const name of copied)
      await expect(readFile(join(root, name)).catch(({ code }) => code)).resolves.not.toBe('ENOENT')
  })

  test('its build makes a program that needs nothing beside itself', { timeout: BUILD_MS }, async () => {
    await using build = await temporaryFolder()
    await using opt = await temporaryFolder()
    for (const [, names = '', to = ''] of containerfile.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm))
      for (const name of names.split(' '))
        await cp(join(root, name), placeOf(build.path, name, to), { recursive: true })
    // In place of `npm ci`, which this machine has done already.
    await symlink(join(root, 'node_modules'), join(build.path, 'node_modules'))
    const [, steps = ''] = /^RUN (npm run build.*)$/m.exec(containerfile) ?? []

    await run('sh', ['-c', steps], { cwd: build.path })
    for (const [, names = '', to = ''] of containerfile.matchAll(/^COPY --from=build (.+) (\S+)$/gm))
      for (const name of names.split(' '))
        await cp(name.replace('/build', build.path), placeOf(opt.path, name, to), { recursive: true })
    const program = join(opt.path, 'opt/skillsyncd/dist/program/main.js')
    const { stdout } = await run(process.execPath, [program, '--version'], { cwd: '/' })

    expect(stdout).toContain(`skillsyncd ${packageJson.version}\n`)
  })

  test('its command starts the daemon once there is a token, its check finds it healthy, and a signal ends it', async () => {
    await using world = await World.create("sources: [{ id: team, url: 'URL' }]\n")
    const [, , ...program] = jsonOf('ENTRYPOINT')
    const command = jsonOf('CMD')

    const refused = await world.home.run(...command, '--port', '0')
    await world.home.run('hub', 'token', 'add', 'ada')
    const daemon = world.home.start(...command, '--port', '0')
    const { port } = new URL(await daemon.line())
    const [, check = ''] = /^ {2}CMD (\[.+\])$/m.exec(containerfile) ?? []
    const [node, flag, script] = JSON.parse(check)
    const healthy = await evaluated(world.home, script.replace('8741', port))
    const end = await daemon.stop()
    const ill = await evaluated(world.home, script.replace('8741', port))

    expect(program).toEqual(['skillsyncd'])
    expect([node, flag]).toEqual(['node', '-e'])
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('skillsyncd hub token add') })
    expect([healthy, ill]).toEqual([0, 1])
    expect(end).toMatchObject({ status: 0 })
  })
})

describe('examples/kubernetes', () => {
  test('every volume that is mounted is there, and every volume is mounted', () => {
    const mounted = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }: any) => name))
    const there = [...pod.volumes, ...set.spec.volumeClaimTemplates.map(({ metadata }: any) => metadata)]

    expect(new Set(mounted)).toEqual(new Set(there.map(({ name }) => name)))
    expect(set.spec.selector.matchLabels).toEqual(set.spec.template.metadata.labels)
    expect(manifest.find(({ kind }) => kind === 'Service').spec.selector).toEqual(set.spec.selector.matchLabels)
    expect(manifest.every(({ metadata }) => metadata.namespace === 'skills')).toBe(true)
    expect(set.spec.replicas).toBe(1)
  })

  test('it keeps the restricted profile of the Pod Security Standards, on a file system that is read only', () => {
    const { securityContext, automountServiceAccountToken, hostNetwork, hostPID, hostIPC } = pod

    expect({ automountServiceAccountToken, hostNetwork, hostPID, hostIPC }).toEqual({
      automountServiceAccountToken: false,
    })
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(securityContext.runAsUser).toBeGreaterThan(0)
    for (const container of containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.ports?.some(({ hostPort }: any) => hostPort !== undefined) ?? false).toBe(false)
    }
    const kinds = pod.volumes.map((volume: any) => Object.keys(volume).find((key) => key !== 'name'))
    expect(kinds.toSorted()).toEqual(['configMap', 'emptyDir', 'secret'])
  })

  test('no secret stands in it, and its configuration is one', () => {
    const config = parseConfig(
      configMap.data['skillsyncd.yaml'],
      '/etc/skillsyncd/skillsyncd.yaml',
      environmentOf({}, '/'),
    )

    expect(manifest.map(({ kind }) => kind)).toEqual(['ConfigMap', 'StatefulSet', 'Service'])
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    expect(config.serve.http).toMatchObject({ host: '0.0.0.0', port: pod.containers[0].ports[0].containerPort })
    expect(config.state).toBe(`${VOLUME}/state`)
    for (const { volumeMounts } of containers)
      expect(volumeMounts.find(({ name }: any) => name === 'state')).toMatchObject({ mountPath: VOLUME })
    expect(pod.securityContext).toMatchObject({ fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' })
    expect(config.serve.http.allowedHosts).toContain('skillsyncd.skills.svc.cluster.local')
  })

  test('run as it says, twice, it is live and ready for the probes, and serves who has the token', async () => {
    const configuration = parseDocument(configMap.data['skillsyncd.yaml'])
    configuration.setIn(['sources', 0], { id: 'team', url: 'URL' })
    await using world = await World.create(configuration.toString())
    const secrets = join(world.home.path, 'secrets')
    const token = `sks_${'a1b2c3d4-_'.repeat(4)}xyz`
    await world.mountSecret(secrets, token)
    // What a new volume of many kinds holds, opened to its group as `fsGroup` has it.
    await mkdir(join(world.volume, 'lost+found'), { recursive: true })
    for (const folder of [world.volume, join(world.volume, 'lost+found')]) await chmod(folder, 0o2775)
    const [init] = pod.initContainers
    const adding = init.args.map((arg: string) => arg.replace('/run/secrets/skillsyncd', secrets))

    const added = [await world.home.run(...adding), await world.home.run(...adding)]
    const daemon = world.home.start(...pod.containers[0].args, '--port', '0')
    const { port } = new URL(await daemon.line())
    await daemon.said((line) => line.includes('source-updated'))
    const base = `http://127.0.0.1:${port}`
    const { startupProbe, livenessProbe, readinessProbe } = pod.containers[0]
    const probed = await Promise.all(
      [startupProbe, livenessProbe, readinessProbe].map(async ({ httpGet: { path } }) => {
        return (await exchange(`${base}${path}`, { method: 'GET' })).status
      }),
    )
    const asked = await Promise.all(
      [token, undefined].map(async (sent) => {
        const { headers, body } = modern('skills/list')
        const authorization = sent === undefined ? {} : { authorization: `Bearer ${sent}` }
        const host = 'skillsyncd.skills.svc:8741'
        return exchange(`${base}/mcp`, { headers: { ...headers, ...authorization, host }, body })
      }),
    )

    for (const end of added) expect(end).toMatchObject({ status: 0, stderr: '' })
    for (const { stdout } of added) expect(stdout).not.toContain('sks_')
    expect(probed).toEqual([200, 200, 200])
    expect(asked.map(({ status }) => status)).toEqual([200, 401])
    expect(JSON.stringify(asked[0]?.result)).toContain('skill://team/alpha/SKILL.md')
  })
})

describe('server.json, for the registry of MCP', () => {
  test('names this package and version, and the package names it back', async () => {
    const server = JSON.parse(await textOf('server.json'))

    expect(server.name).toBe(packageJson.mcpName)
    expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
    expect(server.version).toBe(packageJson.version)
    expect(server.description.length).toBeLessThanOrEqual(100)
    expect(server.$schema).toBe('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json')
    expect(server.packages).toMatchObject([
      { registryType: 'npm', identifier: packageJson.name, version: packageJson.version, transport: { type: 'stdio' } },
    ])
  })

  test('its arguments are those of skillsyncd mcp, in the forms of the schema', async () => {
    const { packages } = JSON.parse(await textOf('server.json'))
    const [command, ...options] = packages[0].packageArguments
    const mcp = await COMMANDS.get(command.value)?.load()

    expect(command).toEqual({ type: 'positional', value: 'mcp' })
    expect(mcp?.name).toBe('mcp')
    for (const { type, name, format = 'string', isRepeated = false, ...rest } of options) {
      const option = mcp && optionsOf(mcp)[name.replace('--', '')]
      expect({ name, type, isRepeated }).toEqual({ name, type: 'named', isRepeated: option?.multiple ?? false })
      expect(option?.type).toBe('string')
      expect(['string', 'filepath']).toContain(format)
      expect(Object.keys(rest).every((key) => ['description', 'placeholder'].includes(key))).toBe(true)
    }
  })
})

/** The place of what COPY copies: in a folder that ends with a slash, or under the name that it gives. */
function placeOf(folder: string, name: string, to: string): string {
  return join(folder, to.endsWith('/') ? join(to, basename(name)) : to)
}

/** The types of a whole program are checked, beside other tests. */
const BUILD_MS = 300_000

function textOf(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

/** The list that stands behind a word of the Containerfile. */
function jsonOf(word: string): string[] {
  const [, list = ''] = new RegExp(`^${word} (\\[.+\\])$`, 'm').exec(containerfile) ?? []
  return JSON.parse(list)
}

async function evaluated(home: Home, script: string): Promise<number | null> {
  const { spawn } = await import('node:child_process')
  const child = spawn(process.execPath, ['-e', script], { env: home.env, stdio: 'ignore' })
  return new Promise((resolve) => child.once('close', resolve))
}

const VOLUME = '/var/lib/skillsyncd'

/** A home in which the state lies where a container has it, and a repository with one skill. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly volume: string
  readonly #git: GitServer
  readonly #repository: Repository

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.volume = join(home.path, 'volume')
    home.env['STATE_DIRECTORY'] = this.volume
    this.#git = git
    this.#repository = repository
  }

  /** `URL` in the configuration is that of the repository, and the volume is in the home. */
  static async create(configuration: string): Promise<World> {
    const [home, git, repository] = [await Home.create(), await GitServer.start(), await Repository.create()]
    await repository.commit({ 'alpha/SKILL.md': '---\nname: alpha\ndescription: One of the tests\n---\nText\n' })
    const world = new World(home, git, repository)
    const ours = configuration.replace('URL', git.serve('team', repository)).replace(VOLUME, world.volume)
    await writeFile(home.configFile, ours)
    return world
  }

  /** As a cluster mounts it: a link to a link, so that it can be exchanged whole. */
  async mountSecret(folder: string, token: string): Promise<void> {
    await mkdir(join(folder, '..2026'), { recursive: true })
    await writeFile(join(folder, '..2026/token'), token)
    await symlink('..2026', join(folder, '..data'))
    await symlink('..data/token', join(folder, 'token'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.#git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}
