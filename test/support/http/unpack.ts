import { execFile } from 'node:child_process'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { fromBufferPromise } from 'yauzl'
import { temporaryFolder } from '../temporary.ts'

/** One file of an archive, as a reader that is not ours finds it. */
export interface Member {
  readonly bytes: Buffer
  /** In octal: 644. */
  readonly mode: string
}

/** The files of a gzipped tar archive by their paths, as the tar of this machine unpacks it. */
export async function untar(archive: Uint8Array): Promise<Map<string, Member>> {
  await using folder = await temporaryFolder()
  const [file, into] = [join(folder.path, 'archive.tar.gz'), join(folder.path, 'into')]
  await Promise.all([writeFile(file, archive), mkdir(into)])
  await promisify(execFile)('tar', ['-xzpf', file, '--no-same-owner', '-C', into])
  const entries = await readdir(into, { recursive: true, withFileTypes: true })
  const members = entries
    .filter((entry) => !entry.isDirectory())
    .map(async (entry): Promise<[string, Member]> => {
      const path = join(entry.parentPath, entry.name)
      const { mode } = await stat(path)
      return [relative(into, path), { bytes: await readFile(path), mode: (mode & 0o777).toString(8) }]
    })
  return new Map(await Promise.all(members))
}

/** The files of a zip archive by their paths. yauzl refuses names that lead out, and sums and sizes that are wrong. */
export async function unzip(archive: Uint8Array): Promise<Map<string, Member>> {
  const zip = await fromBufferPromise(Buffer.from(archive))
  const members = new Map<string, Member>()
  for await (const entry of zip.eachEntry()) {
    const bytes = await buffer(await zip.openReadStreamPromise(entry))
    const mode = entry.externalFileAttributes >>> 16
    if ((mode & 0o170000) !== 0o100000) throw new Error(`No regular file: ${entry.fileName}`)
    members.set(entry.fileName, { bytes, mode: (mode & 0o777).toString(8) })
  }
  return members
}
