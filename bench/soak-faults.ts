import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fault, GitRequest, GitServer } from '../test/support/git/git-server.ts'
import type { Repository } from '../test/support/git/repository.ts'
import type { Random } from '../test/support/random.ts'

/** Something that keeps a pull from succeeding, until it is mended. */
export interface Trouble {
  readonly name: string
  make(): Promise<AsyncDisposable>
}

/** What a server does to its answers. Where in them is left to chance. */
export function troublesOf(server: GitServer, random: Random): HttpTroubles {
  const at = (bytes: number): number => Math.floor(random() * bytes)
  const ofListing: Faults = {
    'cut in the listing': () => ({ kind: 'truncate', at: at(60), on: 'ls-refs' }),
    'flip in the listing': () => ({ kind: 'flip', at: at(50), on: 'ls-refs' }),
    'status 404': () => ({ kind: 'status', status: 404 }),
    'status 500': () => ({ kind: 'status', status: 500 }),
  }
  const ofPack: Faults = {
    'cut in the pack': () => ({ kind: 'truncate', at: at(2_000), on: 'fetch' }),
    'ended early': () => ({ kind: 'end', at: at(2_000), on: 'fetch' }),
    'ended on a packet': () => ({ kind: 'end-on-packet', at: 1 + at(40), on: 'fetch' }),
    'flip in the pack': () => ({ kind: 'flip', at: at(2_000), on: 'fetch' }),
    'status 500 instead of a pack': () => ({ kind: 'status', status: 500, on: 'fetch' }),
    'a page instead of a pack': () => ({ kind: 'status', status: 200, body: '<!doctype html>Sign in', on: 'fetch' }),
  }
  const hang = (): Fault => ({ kind: 'hang', at: at(1_000), on: 'fetch' })
  return {
    ofListing: troubles(ofListing, (fault) => faulty(server, fault())),
    ofPack: [
      ...troubles(ofPack, (fault) => faulty(server, fault())),
      // The first fetch of a pull brings the trees, the second the files.
      ...troubles(ofPack, (fault) => faultySecond(server, fault()), ', of files'),
    ],
    hang: { name: 'hang in the pack', make: async () => faulty(server, hang()) },
  }
}

interface HttpTroubles {
  readonly ofListing: readonly Trouble[]
  readonly ofPack: readonly Trouble[]
  readonly hang: Trouble
}

type Faults = Readonly<Record<string, () => Fault>>

function troubles(faults: Faults, make: (fault: () => Fault) => AsyncDisposable, suffix = ''): Trouble[] {
  return Object.entries(faults).map(([name, fault]) => ({ name: name + suffix, make: async () => make(fault) }))
}

function faulty(server: GitServer, fault: Fault): AsyncDisposable {
  server.fault = fault
  return { [Symbol.asyncDispose]: async () => void (server.fault = { kind: 'none' }) }
}

function faultySecond(server: GitServer, fault: Fault): AsyncDisposable {
  const isFetch = ({ body }: GitRequest): boolean => body.includes('command=fetch')
  const over = new AbortController()
  const afterFirst = async (): Promise<void> => {
    await server.requested(isFetch, server.requests.length)
    if (!over.signal.aborted) server.fault = fault
  }
  // Where the pull ends before it fetches anything, this waits for the next one, and does nothing then.
  void afterFirst()
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort()
      server.fault = { kind: 'none' }
    },
  }
}

/** What a repository can have wrong in itself, however it is reached. */
export async function wrongsIn(repository: Repository): Promise<Trouble[]> {
  const blob = await repository.blob('Nothing but a file.\n')
  const skill = await repository.blob('---\nname: wrong\ndescription: Lies in a tree that may not be.\n---\n')
  const above = await repository.rawTree([{ mode: '100644', name: '..', id: blob }])
  const twice = await repository.rawTree(['a', 'a'].map((name) => ({ mode: '100644', name, id: blob })))
  const noFolder = await repository.rawTree([
    { mode: '100644', name: 'SKILL.md', id: skill },
    { mode: '40000', name: 'references', id: blob },
  ])
  const absent = '1'.repeat(blob.length)
  const ids = {
    'a tree that names ..': await commitOf(above, repository),
    'a tree with a name twice': await commitOf(twice, repository),
    'a folder that is a file': await commitOf(noFolder, repository),
    'a tree that is not there': await commitOf(absent, repository),
    'a commit that is a file': blob,
  }
  return Object.entries(ids).map(([name, id]) => ({ name, make: async () => pointed(repository, id) }))
}

/** A repository on the disk that is not there for a while. */
export function goneFrom({ folder }: Repository): Trouble {
  return {
    name: 'no repository',
    make: async () => {
      await rename(folder, `${folder}-gone`)
      return { [Symbol.asyncDispose]: () => rename(`${folder}-gone`, folder) }
    },
  }
}

async function commitOf(tree: string, repository: Repository): Promise<string> {
  const person = 'Ada Author <ada@example.com> 1750000000 +0000'
  return repository.object('commit', `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nwrong\n`)
}

/** Has the branch lead elsewhere: by its file, since git itself would refuse most of these. */
async function pointed(repository: Repository, id: string): Promise<AsyncDisposable> {
  const branch = join(repository.folder, 'refs', 'heads', 'main')
  const right = await readFile(branch, 'utf8')
  await writeFile(branch, `${id}\n`)
  return { [Symbol.asyncDispose]: () => writeFile(branch, right) }
}
