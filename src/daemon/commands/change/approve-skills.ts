import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../base/json-value.ts'
import { countOf } from '../../../base/text/plural.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import { approveSkillRequest, bringRequest } from '../../../features/mcp-sources/file-requests.ts'
import type { SkillChange, SkillVersion } from '../../../sync/model/changes/skill-changes.ts'
import { criticalNote, isProgram } from '../../../sync/model/changes/skill-notes.ts'
import type { SkillNote } from '../../../sync/model/changes/skill-notes.ts'
import { fileChanges } from '../../../sync/model/changes/skill-review.ts'
import type { SkillReview } from '../../../sync/model/changes/skill-review.ts'
import { approvedIn, declarationOf } from '../../../sync/model/decisions/approvals.ts'
import { digestText } from '../../../sync/model/digest.ts'
import { SKILL_LIMITS } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile, SkillLimits } from '../../../sync/model/skill.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import type { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Context, ExitStatus } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { expectShown, isYes, nothingApproved } from '../../cli/confirm.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { failureIn, withStoreAndWriter } from '../../cli/store-reader.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { reviewLines } from '../../status/changes/change-lines.ts'
import { SkillTexts, WHOLE_TEXTS } from '../../status/changes/skill-texts.ts'
import { theOnly } from '../../status/named-skill.ts'
import { readSkillRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { changeJson } from './diff.ts'

/** Approves skills of other MCP servers, each for exactly the declaration that was shown. */
export async function approveSkills(context: Context): Promise<ExitStatus> {
  const config = await configInUse(context)
  await agreeWithDaemon(config, context.signal)
  const { targets, id } = operandsOf(context)
  const waiting = await waitingFor(targets, config)
  const now = declarationsId(waiting)
  if (id === undefined) {
    const notShown = await showWaiting(context, config, { targets, waiting, id: now })
    expectShown(notShown, 'skillsyncd preview SKILL FILE', lineFor(targets, now))
  }
  const isMeant =
    id === now || (id === undefined && (await isYes(context, `Approve ${countOf(waiting.length, 'skill')}?`)))
  if (!isMeant && id === undefined) return nothingApproved(context, lineFor(targets, now))
  if (!isMeant) {
    const changed = `the current declaration is not the one that was shown as ${id}`
    throw new OperatorError(
      'nothing-to-decide',
      `Cannot approve ${targets.join(' ')}: ${changed}; without it, approve shows it`,
    )
  }
  const approved = await withWriter(context, config, (ask) => approveEach(waiting, ask))
  if (context.json) printJson(context, { skills: approved })
  else printLines(context, approved.map(lineOf))
  return 0
}

type Waiting = Awaited<ReturnType<typeof readSkillRows>>

/** The last operand can be the id of the shown declarations: no skill has such a name. */
function operandsOf({ operands }: Context): { readonly targets: readonly string[]; readonly id: string | undefined } {
  const last = operands.at(-1)
  return last !== undefined && /^[0-9a-f]{64}$/.test(last)
    ? { targets: operands.slice(0, -1), id: last }
    : { targets: operands, id: undefined }
}

async function waitingFor(targets: readonly string[], config: ServedConfig): Promise<Waiting> {
  const known = await readSkillRows(config)
  const rows = known.map(({ row }) => row)
  const wanted = new Set(targets.flatMap((target) => meant(rows, target, config)))
  return known.filter(({ row }) => wanted.has(row))
}

/** The SHA-256 of the declarations for which these skills are approved. Independent of their order. */
export function declarationsId(skills: Waiting): string {
  const declared = skills.map(({ row: { source, path }, skill }) =>
    JSON.stringify([source, path, declarationOf(skill)]),
  )
  return createHash('sha256').update(declared.toSorted().join('\n')).digest('hex')
}

interface Shown {
  readonly targets: readonly string[]
  readonly waiting: Waiting
  /** `declarationsId` of them. */
  readonly id: string
}

/** Prints each skill with all that is declared and changed. Returns the places of what could not be shown. */
async function showWaiting(
  context: Context,
  config: ServedConfig,
  { targets, waiting, id }: Shown,
): Promise<readonly string[]> {
  return withStoreAndWriter(context, config, async (looking) => {
    const texts = new SkillTexts(looking.store)
    await looking.store.decisions.read()
    const formers = await formerVersions(waiting, looking.store)
    const bringing = new Bringing(looking.ask)
    const told: object[] = []
    for (const { row, skill } of waiting) {
      const former = formers.get(placeOf(row))
      const problems = await bringing.bring(row, former, skill)
      const review = await texts.review(changeTo(skill, former), { before: former, after: skill }, true)
      const whole = { ...review, notes: [...problems, ...review.notes] }
      if (context.json) told.push(jsonOf(row, skill, whole))
      else printLines(context, linesOf(row, skill, whole))
    }
    const { notShown } = texts
    if (context.json) printJson(context, { waiting: told, id, approve: lineFor(targets, id), notShown })
    return notShown
  })
}

/**
 * The versions that were approved before, of the skills that have one: what was only declared in between was never
 * shown to anyone, so nothing is compared with that.
 */
async function formerVersions(waiting: Waiting, store: Store): Promise<ReadonlyMap<string, Skill>> {
  const { approvals } = store.decisions
  const sources = new Set<string>(waiting.map(({ row }) => row.source))
  const formers = new Map<string, Skill>()
  for (const digest of await store.snapshots.digests()) {
    const snapshot = await store.snapshots.readWhole(digest)
    if (snapshot === undefined || !sources.has(snapshot.source)) continue
    const approved = approvedIn(approvals, snapshot.source)
    for (const skill of snapshot.skills)
      if (approved.get(skill.path)?.on.declaration === declarationOf(skill))
        formers.set(placeOf({ source: snapshot.source, path: skill.path }), skill)
  }
  return formers
}

function placeOf({ source, path }: Pick<SkillRow, 'source' | 'path'>): string {
  return `${source}/${path}`
}

function changeTo(skill: Skill, former: Skill | undefined): SkillChange {
  const versionOf = ({ path, name = '', digest = '' }: Skill): SkillVersion => ({ path, name, digest })
  const to = versionOf(skill)
  if (former === undefined) return { path: skill.path, change: 'added', to }
  return { path: skill.path, change: 'changed', from: versionOf(former), to }
}

/** Reads files of the servers into the store, as many as one review may: each costs a request. */
class Bringing {
  readonly #ask: AskWriter
  #left: SkillLimits = SKILL_LIMITS

  constructor(ask: AskWriter) {
    this.#ask = ask
  }

  /** The files that differ, and SKILL.md, which is compared with what is declared of it. A note tells what failed. */
  async bring({ source, path }: SkillRow, former: Skill | undefined, skill: Skill): Promise<readonly SkillNote[]> {
    const differing = new Set(fileChanges(former, skill).map((file) => file.path))
    for (const file of skill.files) {
      if (file.path !== 'SKILL.md' && !differing.has(file.path)) continue
      if (file.size > WHOLE_TEXTS.fileBytes || !this.#hasRoom(file)) continue
      try {
        await this.#ask(bringRequest, { source, path, file: file.path })
      } catch (error) {
        // What the server refuses once, it is not asked again for each further file: they stay unread.
        const { message } = failureIn(error)
        return [criticalNote('cannot be read', [file.path, message])]
      }
    }
    return []
  }

  #hasRoom({ size }: SkillFile): boolean {
    this.#left = { files: this.#left.files - 1, bytes: this.#left.bytes - size }
    return this.#left.files >= 0 && this.#left.bytes >= 0
  }
}

function jsonOf(row: SkillRow, skill: Skill, review: SkillReview): object {
  const { source, path, uri, upstream, digest, description } = row
  const files = skill.files.map((file) => ({
    path: file.path,
    size: file.size,
    digest: digestText(file.sha256),
    isProgram: isProgram(file, skill),
  }))
  return {
    source,
    path,
    uri,
    upstream,
    digest,
    description,
    requests: requestsIn(skill.frontmatter),
    files,
    review: changeJson(review),
  }
}

function linesOf(row: SkillRow, skill: Skill, review: SkillReview): string[] {
  const head = `${placeOf(row)}: ${countOf(skill.files.length, 'file')}, digest ${row.digest ?? 'none'}`
  const files = skill.files.map(
    (file) =>
      `  declares ${isProgram(file, skill) ? 'program ' : ''}${file.path}: ${file.size} bytes, sha256 ${file.sha256}`,
  )
  const facts = [
    head,
    ...(row.description === undefined ? [] : [`  ${row.description}`]),
    ...requestLines(skill.frontmatter).map((line) => `  ${line}`),
    ...files,
  ]
  return [...facts.map(printableLine), ...reviewLines(review).map((line) => `  ${line}`)]
}

/** The fields of a frontmatter that clients may act on. skillsyncd does not act on them. */
export function requestsIn(frontmatter: JsonObject | undefined): JsonObject {
  const entries = REQUESTS.flatMap((key) => {
    const value = frontmatter?.[key]
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(entries)
}

const REQUESTS = ['allowed-tools', 'disallowed-tools', 'hooks', 'model', 'context', 'agent', 'shell'] as const

/** The same as lines of text. */
export function requestLines(frontmatter: JsonObject | undefined): string[] {
  return Object.entries(requestsIn(frontmatter)).map(([key, value]) => `requests ${key}: ${shownValue(value)}`)
}

/** The command line that approves exactly what was shown. */
export function lineFor(targets: readonly string[], id: string): string {
  return `skillsyncd approve ${targets.map(shellWord).join(' ')} ${id}`
}

function meant(rows: readonly SkillRow[], operand: string, config: ServedConfig): readonly SkillRow[] {
  const waiting = rows.filter((row) => isWaiting(row) && operand === `${row.source}/`)
  if (waiting.length > 0) return waiting
  if (operand.endsWith('/') && !operand.includes('://')) {
    const [source] = sourcesNamed([operand.slice(0, -1)], config)
    throw new OperatorError('nothing-to-decide', `No skill of "${source}" waits for approval`)
  }
  const skill = theOnly(rows, operand)
  if (isWaiting(skill)) return [skill]
  const why = skill.verdict.state === 'withheld' ? 'it is withheld for another reason' : 'it does not wait for that'
  throw new OperatorError('nothing-to-decide', `Cannot approve "${skill.source}/${skill.path}": ${why}`)
}

/** True also for a skill that is disabled besides. */
function isWaiting({ verdict }: SkillRow): boolean {
  return verdict.reasons.some(({ code }) => code === 'awaiting-approval')
}

interface Approved {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  readonly digest: string | undefined
}

async function approveEach(skills: Waiting, ask: AskWriter): Promise<Approved[]> {
  const approved: Approved[] = []
  for (const { row, skill } of skills) {
    const { source, path, uri, digest } = row
    await ask(approveSkillRequest, { source, path, declaration: declarationOf(skill) })
    approved.push({ source, path, uri, digest })
  }
  return approved
}

function lineOf({ source, path, digest }: Approved): string {
  return printableLine(`${source}/${path}: approved as ${digest?.slice(0, 19) ?? 'it is'}`)
}
