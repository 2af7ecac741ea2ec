import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { neededProgram } from './process/has-program.ts'
import { temporaryFolder } from './temporary.ts'

/** A PostgreSQL server of a test, in a folder of its own. It listens on a socket there. */
export interface Postgres extends AsyncDisposable {
  /** Creates an empty database, and returns its address. */
  createDatabase(): Promise<string>
  /** The certificate of the server, for its name `localhost`, if it takes connections with TLS. */
  readonly certificate: string
  /** The folder of its files. */
  readonly data: string
  /** The small disk, as it is seen from here, if its databases are on one. */
  readonly disk: string | undefined
  /** Ends it, and all connections to it. `immediate`: without a checkpoint, as a crash does. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Starts it again, with the same files, if it has ended. */
  start(): Promise<void>
}

interface PostgresOptions {
  /** The port of the loopback address for connections with TLS; default: it listens on its socket alone. */
  readonly tlsPort?: number
  /** The port of the loopback address for connections in clear, which the addresses of databases name then. */
  readonly port?: number
  /** The size of a disk in memory for its databases, but not for its journal. It is gone when the server ends. */
  readonly diskBytes?: number
}

const run = promisify(execFile)

/** The folder of the server programs; `undefined` where none are installed. */
export async function postgresPrograms(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => [])
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? undefined : join('/usr/lib/postgresql', newest, 'bin')
}

/** Refuses and ends all connections to a database, or takes them again. */
export async function allowConnections(url: string, isAllowed: boolean): Promise<void> {
  const name = /\/(test\d+)\?/.exec(url)?.[1] ?? ''
  const client = new Client({ connectionString: url.replace(`/${name}?`, '/postgres?') })
  await client.connect()
  await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`)
  if (!isAllowed)
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  await client.end()
}

/** Starts a server. It refuses to run as root, so that it runs as the user of the package then. */
export async function startPostgres(programs: string, options: PostgresOptions = {}): Promise<Postgres> {
  const { tlsPort, port, diskBytes } = options
  const folder = await temporaryFolder()
  const data = join(folder.path, 'data')
  const small = join(folder.path, 'small')
  for (const path of [data, small]) await mkdir(path)
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined
  if (user !== undefined) {
    await chmod(folder.path, 0o711)
    for (const path of [data, small]) await chown(path, user.uid, user.gid)
  }
  const as = user ?? {}
  await run(join(programs, 'initdb'), ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--no-sync'], as)
  const certificate = join(data, 'server.crt')
  if (tlsPort !== undefined)
    await run(neededProgram('openssl'), certificateIn(certificate, join(data, 'server.key')), as)
  const listening = listenArguments(options)
  const settings = ['-D', data, '-k', data, ...listening, '-c', 'fsync=off', '-c', 'max_connections=100']
  const start = async (): Promise<ChildProcess> => {
    const command = [join(programs, 'postgres'), ...settings]
    const started =
      diskBytes === undefined || user === undefined
        ? spawn(command[0] ?? '', command.slice(1), { ...as, stdio: ['ignore', 'ignore', 'pipe'] })
        : spawn('unshare', onSmallDisk(small, diskBytes, user, command), { stdio: ['ignore', 'ignore', 'pipe'] })
    await isReady(started)
    return started
  }
  let server = await start()
  const urlOf = (name: string): string => {
    if (port !== undefined) return `postgres://test@127.0.0.1:${port}/${name}`
    const atPort = tlsPort === undefined ? '' : `&port=${tlsPort}`
    return `postgres://test@/${name}?host=${encodeURIComponent(data)}${atPort}`
  }
  const stop = async (mode: 'fast' | 'immediate' = 'fast'): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }
  let databases = 0
  return {
    certificate,
    data,
    disk: diskBytes === undefined ? undefined : join(`/proc/${server.pid}/root`, small),
    async createDatabase() {
      databases += 1
      const client = new Client({ connectionString: urlOf('postgres') })
      await client.connect()
      if (diskBytes !== undefined && databases === 1) await client.query(`CREATE TABLESPACE small LOCATION '${small}'`)
      const place = diskBytes === undefined ? '' : ' TABLESPACE small'
      await client.query(`CREATE DATABASE test${databases}${place}`)
      await client.end()
      return urlOf(`test${databases}`)
    },
    stop,
    async start() {
      if (server.exitCode !== null || server.signalCode !== null) server = await start()
    },
    async [Symbol.asyncDispose]() {
      await stop('immediate')
      await folder[Symbol.asyncDispose]()
    },
  }
}

function listenArguments({ tlsPort, port }: PostgresOptions): readonly string[] {
  const at = tlsPort ?? port
  if (at === undefined) return ['-c', 'listen_addresses=']
  const tls = tlsPort === undefined ? [] : ['-c', 'ssl=on']
  return ['-c', 'listen_addresses=127.0.0.1', '-p', `${at}`, ...tls]
}

/** The arguments of unshare that mount a small disk, which this machine does not see, and then run the server. */
function onSmallDisk(folder: string, bytes: number, { uid, gid }: User, command: readonly string[]): string[] {
  const mount = `mount -t tmpfs -o size=${bytes},mode=700,uid=${uid},gid=${gid} tmpfs "$0"`
  const script = `${mount} && exec setpriv --reuid ${uid} --regid ${gid} --clear-groups -- "$@"`
  return ['--mount', '--propagation', 'private', 'sh', '-c', script, folder, ...command]
}

/** The arguments of openssl for a certificate of the name `localhost` that is signed by its own key. */
function certificateIn(certificate: string, key: string): string[] {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  return ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, '-out', certificate, '-keyout', key]
}

interface User {
  readonly uid: number
  readonly gid: number
}

async function postgresUser(): Promise<User> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  )
  return { uid: uid ?? 0, gid: gid ?? 0 }
}

async function isReady(server: ChildProcess): Promise<void> {
  let said = ''
  for await (const piece of server.stderr ?? []) {
    said += String(piece)
    if (said.includes('database system is ready to accept connections')) {
      server.stderr?.resume()
      return
    }
  }
  throw new Error(`PostgreSQL did not start: ${said}`)
}
