import { spawn, spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseDocument } from 'yaml'
import { exchange, modern } from '../conformance/exchange.ts'
import { skill } from '../e2e/world.ts'
import { freePort } from '../support/free-port.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { postgresPrograms, startPostgres } from '../support/postgres.ts'
import { hasProgram } from '../support/process/has-program.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'

// What examples/hub-of-several has containers run, as processes of this machine.

const folder = fileURLToPath(new URL('../../examples/hub-of-several/', import.meta.url))
const programs = await postgresPrograms()
const isHere = programs !== undefined && hasProgram('nginx')

test.skipIf(!isHere)(
  'behind nginx a client of the hub in the example goes on when a process is killed, and the other one publishes',
  { timeout: 180_000 },
  async () => {
    await using server = await startPostgres(programs ?? '')
    await using git = await GitServer.start()
    await using repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    const owner = await server.createDatabase()
    await makeRole(owner)
    const { services } = parse(await textOf('compose.yaml'), { merge: true })
    const place = { source: git.serve('team', repository), database: asRole(owner, 'hub') }
    const [one, other] = [await Container.create(place), await Container.create(place)]
    const ownerFile = join(one.home.path, 'owner.url')
    await writeFile(ownerFile, owner, { mode: 0o600 })
    const migrate = services.migrate.command.map((word: string) => word.replace('/run/secrets/owner_url', ownerFile))

    const migrated = await one.home.run(...migrate)
    const added = await one.home.run('hub', 'token', 'add', 'ada')
    const daemon = await one.start()
    const survivor = await other.start()
    const proxy = await nginxBefore([one, other])
    const token = added.stdout.trim()

    expect([migrated.status, added.status]).toEqual([0, 0])
    await expect.poll(async () => listed(proxy, token), POLL).toContain('skill://team/alpha/SKILL.md')
    expect(await listed(proxy, undefined)).toBe('401')
    // The other process has it too.
    await expect.poll(async () => listed(`http://127.0.0.1:${other.port}`, token), POLL).toContain('skill://team/alpha')

    await daemon.kill()
    const answers = await Promise.all(Array.from({ length: 20 }, async () => listed(proxy, token)))
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first'), 'beta/SKILL.md': skill('beta', 'second') })

    for (const answer of answers) expect(answer).toContain('skill://team/alpha/SKILL.md')
    await expect.poll(async () => listed(proxy, token), POLL).toContain('skill://team/beta/SKILL.md')
    expect(survivor.stderr).toContain('"hub-role"')
  },
)

const POLL = { timeout: 60_000, interval: 200 }

/** The result of skills/list by way of the proxy, or the status of a refusal. */
async function listed(proxy: string, token: string | undefined): Promise<string> {
  const { headers, body } = modern('skills/list')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const { status, result } = await exchange(`${proxy}/mcp`, {
    headers: { ...headers, ...authorization, host: 'localhost:8741' },
    body,
  })
  return status === 200 ? JSON.stringify(result) : `${status}`
}

/** A process of the hub, in a home of its own, with the configuration of the example. */
class Container {
  readonly home: Home
  readonly port: number

  private constructor(home: Home, port: number) {
    this.home = home
    this.port = port
  }

  static async create({
    source,
    database,
  }: {
    readonly source: string
    readonly database: string
  }): Promise<Container> {
    const [home, port] = [await Home.create(), await freePort()]
    const [url, configuration] = [join(home.path, 'hub.url'), parseDocument(await textOf('skillsyncd.yaml'))]
    await writeFile(url, database, { mode: 0o600 })
    configuration.setIn(['sources', 0], { id: 'team', url: source, every: '1s' })
    const text = configuration.toString().replace('/run/secrets/hub_url', url)
    await writeFile(home.configFile, text.replace('10.0.0.0/8', '127.0.0.0/8, 10.0.0.0/8'))
    return new Container(home, port)
  }

  /** Starts it, and waits until it listens. */
  async start(): Promise<Program> {
    const program = this.home.start('start', '--port', `${this.port}`)
    await program.line()
    return program
  }
}

/** Runs `roles.sh` as the image of PostgreSQL does. */
async function makeRole(owner: string): Promise<void> {
  await using scratch = await temporaryFolder()
  const [script, password] = [join(scratch.path, 'roles.sh'), join(scratch.path, 'password')]
  await writeFile(password, "it's a password\n")
  await writeFile(script, (await textOf('roles.sh')).replace('/run/secrets/hub_password', password))
  const { pathname, searchParams } = new URL(owner.replace('@/', '@host/'))
  const env = {
    PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    PGHOST: searchParams.get('host') ?? '',
    POSTGRES_USER: 'test',
    POSTGRES_DB: pathname.slice(1),
  }
  expect(spawnSync('sh', [script], { env, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
}

function asRole(url: string, role: string): string {
  return url.replace('//test@', `//${role}@`)
}

/** The origin of an nginx with the file of the example. */
async function nginxBefore([one, other]: readonly [Container, Container]): Promise<string> {
  const [port, at] = [await freePort(), join(one.home.path, 'nginx')]
  await mkdir(at)
  const site = (await textOf('nginx.conf'))
    .replace('hub-1:8741', `127.0.0.1:${one.port}`)
    .replace('hub-2:8741', `127.0.0.1:${other.port}`)
    .replace('listen 80', `listen 127.0.0.1:${port}`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${at}/${of};`)
  const settings = `daemon off; pid ${at}/pid; error_log stderr; events {}`
  await writeFile(join(at, 'nginx.conf'), `${settings} http { access_log off; ${temporary.join(' ')}\n${site}}`)
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', at, '-c', join(at, 'nginx.conf')], { stdio: 'ignore' })
  onTestFinished(() => {
    nginx.kill('SIGTERM')
  })
  await expect.poll(async () => healthOf(port), POLL).toBe(200)
  return `http://127.0.0.1:${port}`
}

async function healthOf(port: number): Promise<number> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status,
    () => 0,
  )
}

async function textOf(file: string): Promise<string> {
  return readFile(join(folder, file), 'utf8')
}
