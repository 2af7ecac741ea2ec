import { execFile } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Home } from '../support/process/program.ts'

/** Processes and the runtime folder are its own; the disk is that of all. */
const CONTAINER = ['--pid', '--fork', '--kill-child', '--mount', '--mount-proc', 'sh', '-ec']
const OWN_RUNTIME = 'mount -t tmpfs -o mode=0700 tmpfs "$XDG_RUNTIME_DIR"; exec "$@"'

/** Why no container can be made here; empty where one can. */
export async function noContainers(): Promise<string> {
  const env = { ...process.env, XDG_RUNTIME_DIR: '/mnt' }
  return promisify(execFile)('unshare', [...CONTAINER, OWN_RUNTIME, 'sh', 'true'], { env }).then(
    () => '',
    () => ': no namespaces can be made here',
  )
}

/** Has what is started in the home run in a container of its own each time. */
export function contain(home: Home): Home {
  home.under = ['unshare', ...CONTAINER, OWN_RUNTIME, 'sh']
  return home
}

/** The process in a container, by its number here. */
export async function inside(container: number): Promise<number> {
  const children = await readFile(`/proc/${container}/task/${container}/children`, 'utf8')
  return Number(children.trim())
}

/** The pointer and the generations of a state folder, as they lie there. */
export async function generationsIn(state: string): Promise<readonly string[]> {
  const current = await readFile(`${state}/current`, 'utf8')
  return [current, ...(await readdir(`${state}/generations`)).toSorted()]
}
