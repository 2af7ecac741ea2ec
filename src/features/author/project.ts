import { join, relative, resolve } from 'node:path'
import { systemClock } from '../../base/async/clock.ts'
import { printJson, printJsonAsIs, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context, ExitStatus } from '../../daemon/cli/command.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OutputFolder } from '../../daemon/runtime/output-folder.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { isWithin, skillFoldersAt } from '../../daemon/runtime/skill-folders.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import type { Profile } from '../../sync/skill/contract/projection.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { copyTo, projectedDocument } from './project-skill.ts'
import type { Copy, ProjectedSkill, ProjectionFailed, ProjectionResult, Projecting } from './project-skill.ts'

/** Projections of skills, on stdout or in a folder of their own, and the way back. */
export const projectCommand: Command = {
  name: 'skill project',
  operands: { text: 'PATH', most: 1, offers: ['files'] },
  needsConfiguration: false,
  details: `
  For uploads and validators that refuse other fields. PATH is a SKILL.md, the folder of a skill, or a folder of
  skills. One SKILL.md goes to stdout; with --out, each skill is copied whole to DIR/NAME. An earlier copy there is
  replaced only if it was not edited. It needs no configuration.
`,
  examples: ['skillsyncd skill project skills/pdf/SKILL.md', 'skillsyncd skill project skills --out dist/skills'],
  options: {
    out: { type: 'string', value: 'DIR', help: 'the folder for the copies; not inside PATH', offers: 'folders' },
    profile: {
      type: 'string',
      value: 'P',
      help: 'strict: the six standard fields (default); claude-code: also the fields of that client',
      offers: ['strict', 'claude-code'],
    },
    reverse: {
      type: 'boolean',
      help: 'convert back: restores the original, except for the fields that were left out',
    },
  },
  async run(context) {
    const [path] = context.operands
    if (path === undefined)
      throw new UsageError(
        '"skill project" wants the path of a skill, or of a folder of skills; see skillsyncd skill project --help',
      )
    const making = makingOf(context)
    const { root, named, folders, closed } = await skillFoldersAt(path, context.signal)
    const shown = (folder: string): string => join(named, relative(root, folder))
    const unread = closed.map(([folder, code]): Named<ProjectionFailed> => {
      const faults = [{ path: '', message: `cannot be read: ${whyNotUsed({ code })}` }]
      return { path: shown(folder), kind: 'failed', faults }
    })
    const out = context.values['out']
    if (typeof out === 'string') {
      const output = await outputAt(out, root)
      return printCopies(context, [...(await copies(output, folders, making, shown, context.signal)), ...unread])
    }
    const [folder, other] = folders
    if (other !== undefined)
      throw new UsageError(
        `"${path}" contains more than one skill; name a folder for them with --out, or name one of them`,
      )
    // A folder that cannot be read may hold another skill.
    if (folder === undefined || unread.length > 0) return printNothing(context, unread)
    return printDocument(context, { path: shown(folder), ...(await projectedDocument(folder, making)) })
  },
}

type Named<Result> = Result & { readonly path: string }

function makingOf({ values }: Context): Projecting {
  const profile = values['profile'] ?? 'strict'
  if (!isProfile(profile)) throw new UsageError(`--profile is strict or claude-code, not ${JSON.stringify(profile)}`)
  if (values['reverse'] !== true) return { kind: 'project', profile }
  if (values['profile'] !== undefined)
    throw new UsageError('--reverse and --profile exclude each other: the way back is the same for all profiles')
  return { kind: 'reverse' }
}

function isProfile(text: unknown): text is Profile {
  return text === 'strict' || text === 'claude-code'
}

/** Copies inside the projected folder would count as its skills, and be projected in turn. */
async function outputAt(out: string, root: string): Promise<OutputFolder> {
  if (out === '') throw new UsageError('--out "" does not name a folder; name one that is not inside PATH')
  try {
    const real = await futurePath(resolve(out))
    if (isWithin(real, root))
      throw new UsageError(`--out "${out}" is inside the projected folder; name a folder beside it`)
    return await OutputFolder.open(real, () => systemClock.now().getTime())
  } catch (error) {
    if (isDiskError(error))
      throw new UsageError(`Cannot write to --out "${out}": ${whyNotUsed(error)}; name another folder`, {
        cause: error,
      })
    throw error
  }
}

async function copies(
  output: OutputFolder,
  folders: readonly string[],
  making: Projecting,
  shown: (folder: string) => string,
  signal: AbortSignal,
): Promise<Named<ProjectionResult<Copy>>[]> {
  const made: Named<ProjectionResult<Copy>>[] = []
  const taken = new Map<string, string>()
  for (const folder of folders) {
    signal.throwIfAborted()
    made.push({ path: shown(folder), ...(await copyTo(output, folder, making, { taken, signal })) })
  }
  return made
}

function printCopies(context: Context, all: readonly Named<ProjectionResult<Copy>>[]): ExitStatus {
  const [skills, failed] = [all.filter(isMade), all.filter(isFailed)]
  if (context.json) printJson(context, { skills: skills.map(withoutKind), failed: failed.flatMap(faultsOf) })
  else printLines(context, skills.flatMap(linesOf))
  return exitStatusOf(context, failed)
}

function linesOf({ path, to, status, dropped, nested }: Named<Copy>): string[] {
  return [
    `${printableLine(path)} ${status === 'written' ? 'to' : 'is unchanged at'} ${printableLine(to)}${leftOut(dropped)}`,
    ...nested.map((inner) => `- ${printableLine(join(path, inner))} is copied as it is: a skill inside of another one`),
  ]
}

function printNothing(context: Context, failed: readonly Named<ProjectionFailed>[]): ExitStatus {
  if (context.json) printJson(context, { skills: [], failed: failed.flatMap(faultsOf) })
  return exitStatusOf(context, failed)
}

function printDocument(context: Context, result: Named<ProjectionResult<ProjectedSkill>>): ExitStatus {
  const { streams, json, quiet } = context
  if (!isMade(result)) return printNothing(context, [result])
  const { path, name, bytes, dropped } = result
  // The author's text is returned byte for byte, so it bypasses the filter of secrets.
  if (json) printJsonAsIs(context, { skills: [{ path, name, dropped, ...textOf(bytes) }], failed: [] })
  else streams.stdout.write(bytes)
  if (!json && !quiet && dropped.length > 0) streams.stderr.write(`${printableLine(path)}${leftOut(dropped)}\n`)
  return 0
}

function textOf(bytes: Uint8Array): { readonly document: string } | { readonly base64: string } {
  const document = utf8(bytes)
  return document === undefined ? { base64: Buffer.from(bytes).toString('base64') } : { document }
}

function leftOut(dropped: readonly string[]): string {
  if (dropped.length === 0) return ''
  const fields = dropped.length === 1 ? 'one field' : `${dropped.length} fields`
  return `; ${fields} left out: ${printableLine(dropped.join(', '))}`
}

function exitStatusOf({ streams, json, redactor }: Context, failed: readonly Named<ProjectionFailed>[]): ExitStatus {
  if (!json)
    for (const fault of failed.flatMap(faultsOf)) streams.stderr.write(`! ${redactor.clean(faultLine(fault))}\n`)
  return failed.length === 0 ? 0 : 1
}

interface Shown {
  readonly path: string
  readonly field?: string
  readonly message: string
}

function faultsOf({ path, faults }: Named<ProjectionFailed>): Shown[] {
  return faults.map((fault) => ({ ...fault, path: join(path, fault.path) }))
}

function faultLine({ path, field, message }: Shown): string {
  return printableLine(field === undefined ? `${path}: ${message}` : `${path}: ${field} ${message}`)
}

function isMade<Result>(one: Named<ProjectionResult<Result>>): one is Named<{ readonly kind: 'made' } & Result> {
  return one.kind === 'made'
}

function isFailed<Result>(one: Named<ProjectionResult<Result>>): one is Named<ProjectionFailed> {
  return one.kind === 'failed'
}

function withoutKind({ kind: _kind, ...rest }: Named<{ readonly kind: 'made' } & Copy>): object {
  return rest
}
