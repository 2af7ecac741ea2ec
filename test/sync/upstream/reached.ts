import { readdir } from 'node:fs/promises'
import type { FetchThreads } from '../../../src/sync/git/fetch-threads.ts'
import type { Programs, SshAccess } from '../../../src/sync/git/objects/git-host.ts'
import { isObjectId, type ObjectId } from '../../../src/sync/model/revision.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import type { GitSource } from '../../../src/sync/model/source.ts'
import type { Tree } from '../../../src/sync/model/tree.ts'
import { openTreeUpstream } from '../../../src/sync/pull/open-upstream.ts'
import type { Reach } from '../../../src/sync/pull/open-upstream.ts'
import { temporaryWorkspace } from '../../../src/sync/store/objects/temporary-blobs.ts'
import { PLAIN_WAY, type HostRoute, type HostAccess } from '../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS, NOTHING_KNOWN } from '../../../src/sync/upstream/upstream.ts'
import type { FetchLimits, TreeUpstream } from '../../../src/sync/upstream/upstream.ts'
import type { Repository } from '../../support/git/repository.ts'
import { temporaryFolder } from '../../support/temporary.ts'

interface Options {
  readonly ref?: string
  readonly root?: string
  readonly backend?: GitSource['backend']
  readonly limits?: Partial<FetchLimits>
  readonly authorization?: string
  readonly scratch?: string
  readonly git?: string
  readonly ssh?: string
  readonly access?: Partial<SshAccess>
  readonly headers?: HostAccess['headers']
  readonly route?: Partial<HostRoute>
  readonly threads?: FetchThreads
  readonly onAddress?: (url: string) => void
}

/** How a kind of upstream gets at a repository that a test has made. */
export type Open = (repository: Repository) => Promise<Opened>

export interface Opened extends AsyncDisposable {
  readonly url: string
}

/** An upstream with a scratch folder of its own. */
export interface Reached extends AsyncDisposable {
  readonly upstream: TreeUpstream
  readonly reach: Reach
  /** Resolves and fetches, knowing nothing. */
  tree(): Promise<Tree>
  /** What lies in scratch. */
  scratch(): Promise<readonly string[]>
}

export const STEADY = new AbortController().signal

export async function reach(url: string, options: Options = {}): Promise<Reached> {
  const folder = await temporaryFolder()
  // Apart from scratch, which a fetch has to leave empty.
  const workspace = await temporaryWorkspace()
  const given: Reach = {
    scratch: options.scratch ?? folder.path,
    blobs: workspace.blobs,
    limits: { ...FETCH_LIMITS, ...options.limits },
    way: async () => wayOf(options),
    programs: programs(url, options),
    ...(options.threads && { threads: options.threads }),
    ...(options.onAddress && { onAddress: options.onAddress }),
  }
  const upstream = openTreeUpstream(sourceAt(url, options), given)
  return {
    upstream,
    reach: given,
    tree: async () => upstream.fetch(await upstream.resolve(STEADY), NOTHING_KNOWN, STEADY),
    scratch: () => readdir(folder.path),
    [Symbol.asyncDispose]: async () => {
      await workspace[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

function wayOf({ authorization, headers = {}, route }: Options): HostAccess {
  const own = authorization === undefined ? headers : { ...headers, authorization }
  return { headers: own, route: { ...PLAIN_WAY.route, ...route } }
}

/** One line for each entry that is no folder, as `git ls-tree -r -z` has it. */
export function linesOf(tree: Tree, id: ObjectId = tree.root, path = ''): string[] {
  return tree.list(id).flatMap((entry) => {
    const at = path + entry.name
    if (entry.kind === 'folder') return linesOf(tree, entry.id, `${at}/`)
    return [`${MODES[entry.kind]} ${entry.kind === 'submodule' ? 'commit' : 'blob'} ${entry.id}\t${at}`]
  })
}

/** The ids of all files. */
export function blobsOf(tree: Tree, id: ObjectId = tree.root): ObjectId[] {
  return tree.list(id).flatMap((entry) => {
    if (entry.kind === 'folder') return blobsOf(tree, entry.id)
    return entry.kind === 'submodule' ? [] : [entry.id]
  })
}

/** The worker threads of this process. */
export function workers(): number {
  const report: object = process.report.getReport()
  if (!('workers' in report) || !Array.isArray(report.workers)) throw new Error('The report names no workers')
  return report.workers.length
}

/** A text that is known to be an object id. */
export function objectId(text: string | undefined): ObjectId {
  if (text === undefined || !isObjectId(text)) throw new Error(`"${text}" is no object id`)
  return text
}

/** How the hosts of a test are reached over ssh, by their name and port. */
export const ACCESS = new Map<string, Partial<SshAccess>>()

/** What is to speak git with the repositories of a test, by their address; else what the address asks for. */
export const BACKENDS = new Map<string, GitSource['backend']>()

/** Those of this machine, with nobody's keys and no known host unless the test says so. */
function programs(
  url: string,
  { git = 'git', ssh = 'ssh', access = ACCESS.get(URL.parse(url)?.host ?? '') }: Options,
): Programs {
  const nobody = {
    key: undefined,
    passphrase: undefined,
    agent: undefined,
    knownHosts: '/dev/null',
    systemHosts: false,
  }
  return { git, ssh, path: process.env['PATH'] ?? '', access: async () => ({ ...nobody, ...access }) }
}

export const MODES = {
  file: '100644',
  executable: '100755',
  link: '120000',
  submodule: '160000',
  'unusable-file': '?',
  'unusable-folder': '?',
  unread: '?',
} as const

function sourceAt(url: string, { ref, root = '', backend = BACKENDS.get(url) ?? 'auto' }: Options): GitSource {
  const id = 'team'
  if (!isSourceId(id)) throw new Error(`"${id}" is no source id`)
  const selection = { root, include: ['**'], exclude: [], unlisted: [] }
  const rest = {
    names: 'remap',
    nested: 'as-skills',
    onBroken: 'withhold',
    lfs: 'withhold',
    hiddenUnicode: 'note',
    contract: false,
    docs: undefined,
    marketplace: false,
  } as const
  return {
    kind: 'git',
    id,
    url,
    backend,
    ref,
    schedule: { kind: 'every', periodMs: 1000 },
    ...FOLLOWING,
    ...selection,
    ...rest,
  }
}

const FOLLOWING = { update: 'auto', brakes: 'hold' } as const
