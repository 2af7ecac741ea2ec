import { isObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { GitHost } from '../objects/git-host.ts'
import type { GitTransport, ObjectLocation, ProgramTarget } from '../objects/git-transport.ts'
import { prefixOf, type Ref } from '../objects/ref-rules.ts'
import { GitProgram } from './git-program.ts'
import { NO_GIT } from './program-objects.ts'

/** A repository that the git program reads: over ssh or http(s), or local. */
export class ProgramTransport implements GitTransport {
  readonly #target: ProgramTarget
  readonly #reach: GitHost

  constructor(target: ProgramTarget, reach: GitHost) {
    this.#target = target
    this.#reach = reach
  }

  /** Lists refs. HEAD is left out if a name is given: with HEAD the server would send all its refs. */
  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const names = (patterns.length > 1 ? patterns.filter((pattern) => pattern !== 'HEAD') : patterns).map(prefixOf)
    await using git = await GitProgram.open(this.#target, this.#reach)
    const kinds = KINDS.filter(([, prefix]) => names.some((name) => name.startsWith(prefix)))
    const isNarrow = names.every((name) => KINDS.some(([, prefix]) => name.startsWith(prefix)))
    // With a pattern alone the server sends all its refs and git filters them; with a kind it sends only that kind.
    const flags = isNarrow ? kinds.map(([flag]) => flag) : []
    const args = ['--git-dir=none', 'ls-remote', '--symref', ...flags, '--end-of-options', git.address]
    const within = AbortSignal.any([signal, AbortSignal.timeout(Math.min(this.#reach.limits.totalMs, LISTING_MS))])
    const what = `Cannot list the refs of "${git.address}"`
    const printed = await git
      .ask({ args: [...args, ...names.map(patternOf)] }, what, within)
      .catch((cause: unknown) => {
        if (signal.aborted || !within.aborted) throw cause
        throw new SyncError('source-unreachable', `${what}: not done within ${LISTING_MS} ms`)
      })
    return refsIn(printed.toString('utf8'), git.address).filter((ref) =>
      names.some((name) => ref.name.startsWith(name)),
    )
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return (await this.list(['refs/heads/*', 'refs/tags/*'], signal)).length === 0
  }

  async peel(ref: Ref): Promise<Ref> {
    return ref
  }

  async locate(): Promise<ObjectLocation> {
    return { kind: 'program', target: this.#target }
  }

  forget(): void {}
}

const KINDS = [
  ['--heads', 'refs/heads/'],
  ['--tags', 'refs/tags/'],
] as const

/** A listing is one short answer. A slow host delays other pulls no longer than this. */
const LISTING_MS = 60_000

/**
 * Returns a pattern for all names with this prefix. Without the star, the line with the peeled target of a tag would be
 * missing.
 */
function patternOf(name: string): string {
  return `${name.replaceAll(/[*?[\\]/g, String.raw`\$&`)}*`
}

/**
 * Parses `<id> TAB <name>`. A name with the suffix `^{}` gives the target of the tag before it; `ref: <name>` gives the
 * target of HEAD.
 */
function refsIn(printed: string, address: string): readonly Ref[] {
  const targets = new Map<string, string>()
  const refs = new Map<string, Ref>()
  for (const line of printed.split('\n').filter((text) => text !== '')) {
    const [id = '', name = ''] = line.split('\t')
    const tag = name.endsWith('^{}') ? refs.get(name.slice(0, -3)) : undefined
    if (id.startsWith('ref: ')) targets.set(name, id.slice(5))
    else if (!isObjectId(id) || name === '') throw noList(address)
    else if (tag !== undefined) refs.set(tag.name, { ...tag, peeled: id })
    else refs.set(name, withTarget({ name, id }, targets.get(name)))
  }
  return [...refs.values()]
}

function withTarget(ref: Ref, target: string | undefined): Ref {
  return target === undefined ? ref : { ...ref, target }
}

function noList(address: string): SyncError {
  return new SyncError('source-unreachable', `Cannot list the refs of "${address}": the answer is not a list of refs`, {
    fix: NO_GIT,
  })
}
