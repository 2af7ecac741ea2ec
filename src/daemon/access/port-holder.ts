import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** A program that listens on a port, as far as this user may know it. */
export interface PortHolder {
  readonly pid: number
  readonly program: string
}

/**
 * Finds the program that listens on a TCP port of this machine. `undefined` if it is not known: it is of another user, of
 * another container, or the system has no `/proc`.
 */
export async function portHolderOf(port: number, proc = '/proc'): Promise<PortHolder | undefined> {
  const tables = await Promise.all(['tcp', 'tcp6'].map(async (name) => textOf(join(proc, 'net', name))))
  const sockets = new Set(tables.flatMap((table) => listenersIn(table, port)))
  if (sockets.size === 0) return undefined
  for (const pid of (await namesIn(proc)).filter((name) => /^\d+$/.test(name))) {
    const links = await linksIn(join(proc, pid, 'fd'))
    if (links.some((link) => sockets.has(link))) return { pid: Number(pid), program: await programOf(join(proc, pid)) }
  }
  return undefined
}

/** The holder as a text that ends a message: `node (process 4711)`. */
export function portHolderText(holder: PortHolder | undefined): string {
  return holder === undefined ? 'another program' : `${holder.program} (process ${holder.pid})`
}

/** The next steps for a port in use. Those that keep the address of the clients come first. */
export function portFix(holder: PortHolder | undefined, key: string): string {
  const stop =
    holder === undefined
      ? 'Find it with ss -ltnp as root, and stop it, then start again'
      : `Stop it (kill ${holder.pid}; skillsyncd stop, if it is another daemon), then start again`
  return `${stop}; another port in ${key} is another address for every client`
}

/** The sockets that listen on the port, by the names that links to them have. See proc_pid_net(5). */
function listenersIn(table: string, port: number): readonly string[] {
  const at = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    return local.endsWith(at) && state === LISTENING ? [`socket:[${inode}]`] : []
  })
}

const LISTENING = '0A'

/** Processes end meanwhile, and those of other users are closed to this one. */
async function linksIn(folder: string): Promise<readonly string[]> {
  return Promise.all((await namesIn(folder)).map(async (name) => readlink(join(folder, name)).catch(() => '')))
}

/** The command as it was typed: `comm` is the name of the main thread, which Node calls `MainThread`. */
async function programOf(folder: string): Promise<string> {
  const [typed = ''] = (await textOf(join(folder, 'cmdline'))).split('\0')
  return basename(typed) || (await textOf(join(folder, 'comm'))).trim()
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
