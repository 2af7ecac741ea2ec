import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** A file of an organization, for all users of a machine: its path below `/etc`, and its text. */
export interface ManagedFile {
  readonly where: string
  readonly text: string
}

/** Puts a layer over `/etc`, for the rest of the words alone. */
const UNSHARE = ['--mount', '--propagation', 'private', 'sh', '-ec']
const LAYER = [
  'aside=$(mktemp -d)',
  'mount -t tmpfs tmpfs "$aside"',
  'mkdir "$aside/upper" "$aside/work"',
  'cp -R "$0/etc/." "$aside/upper"',
  'mount -t overlay -o "lowerdir=/etc,upperdir=$aside/upper,workdir=$aside/work" overlay /etc',
  'umount --lazy "$aside"',
  'rmdir "$aside"',
  'exec "$@"',
].join(' && ')

/** Returns the reason why no process can have an `/etc` of its own here; `undefined` if it can. */
export async function managedMachineObstacle(folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'only Linux has mount namespaces'
  if (process.getuid?.() !== 0) return 'only root can put a layer over /etc'
  await mkdir(join(folder, 'etc'), { recursive: true })
  return promisify(execFile)('unshare', [...UNSHARE, LAYER, folder, 'true']).then(
    () => undefined,
    (error: Error) => `no layer can be put over /etc here: ${error.message.replaceAll('\n', ' ')}`,
  )
}

/** Returns the words before a command that has these files in `/etc`. No other process sees them. */
export async function managedMachine(folder: string, files: readonly ManagedFile[]): Promise<readonly string[]> {
  for (const { where, text } of files) {
    if (!where.startsWith('/etc/')) throw new Error(`"${where}" is not below /etc`)
    const path = join(folder, where)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
  return ['unshare', ...UNSHARE, LAYER, folder]
}
