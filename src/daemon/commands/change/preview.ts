import { isUtf8 } from 'node:buffer'
import type { JsonObject } from '../../../base/json-value.ts'
import { closestTo } from '../../../base/text/closest.ts'
import { bringRequest } from '../../../features/mcp-sources/file-requests.ts'
import { asUntrusted } from '../../../serve/mcp/tools/untrusted.ts'
import { digestText } from '../../../sync/model/digest.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile } from '../../../sync/model/skill.ts'
import type { Source } from '../../../sync/model/source.ts'
import type { VerdictState } from '../../../sync/model/verdict/verdict.ts'
import { withDeceitEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { storedOf, storedSkill } from '../../../sync/store/skills/stored-path.ts'
import { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import { readCandidate, withStoreAndWriter } from '../../cli/store-reader.ts'
import { configuredIn } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { readKept } from '../../pull/stored-file.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine, printableText } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { theOnlyOrFormer } from '../../status/named-skill.ts'
import { readSkillRows } from '../../status/skill-rows.ts'
import { declarationsId, lineFor, requestLines, requestsIn } from './approve-skills.ts'
import { waitingRequest } from './decide-requests.ts'

export const preview: Command = {
  name: 'preview',
  operands: { text: 'SKILL [FILE]', most: 2, offers: ['skills', []] },
  details: `
  FILE is a path in the folder of the skill; the default is SKILL.md. With --waiting it is the file in the commit
  that waits for approval, and SKILL is SOURCE/PATH or SOURCE/NAME; the docs folder of a source is named in the same
  way. Bytes that are no text are shown as \\xNN.

  SKILL is an id, a URI, SOURCE/PATH, SOURCE/NAME, a path or a name. The skill stays as it is: one that waits for
  approval stays waiting. A file of an MCP source is fetched, and checked as for clients. With --json, and to a pipe
  or a file, its text is marked as untrusted, because a model may read it.
`,
  examples: ['skillsyncd preview team/skills/pdf', 'skillsyncd preview team/pdf scripts/run.sh --waiting'],
  options: { waiting: { type: 'boolean', help: 'the file in the commit that waits for approval' } },
  async run(context) {
    const [asked, file = DOCUMENT] = context.operands
    if (asked === undefined)
      throw new UsageError('"preview" wants the URI, path or name of a skill; skillsyncd list shows them')
    const config = await configInUse(context)
    await agreeWithDaemon(config, context.signal)
    const named = context.values['waiting'] === true ? waitingNamed(config, asked) : undefined
    // The skills of a server wait one by one, in the listing that is in force.
    if (named !== undefined && named.source.kind !== 'mcp') {
      print(context, await waitingPreview(context, config, named, file))
      return 0
    }
    const rows = await readSkillRows(config)
    const row = await theOnlyOrFormer(
      rows.map((one) => one.row),
      asked,
      config,
    )
    const found = rows.find((one) => one.row === row)
    if (found === undefined) throw new TypeError('A row that was found is one of the rows')
    print(context, await previewOf(context, config, found, file))
    return 0
  },
}

type Found = Awaited<ReturnType<typeof readSkillRows>>[number]

/** A skill for review by a person. */
interface Preview {
  readonly source: string
  readonly path: string
  readonly uri: string | undefined
  /** Its URI on its own server, if it comes from another MCP server. */
  readonly upstream: string | undefined
  readonly state: VerdictState
  /** The command line that approves exactly this version, if it waits for approval. */
  readonly approve?: string
  readonly digest: string | undefined
  /** The frontmatter fields that a client may act on. skillsyncd does not act on them. */
  readonly requests: JsonObject
  /**
   * The whole file. One of an MCP server is marked as `get_skill` marks it, unless a person reads it on a
   * terminal.
   */
  readonly content: string
}

async function previewOf(
  context: Context,
  config: ServedConfig,
  { row, skill }: Found,
  named: string,
): Promise<Preview> {
  const { source, path, uri, upstream, digest, verdict } = row
  const name = `${source}/${path}`
  if (verdict.state === 'disabled')
    throw new OperatorError('disabled', `Cannot preview "${name}": it is disabled; enable it first`)
  if (verdict.state === 'withheld')
    throw new OperatorError('withheld', `Cannot preview "${name}": it is withheld; skillsyncd show has the reason`)
  const file = fileOf(skill, named, name)
  const text = shownText(await bytesOf(context, config, skill, file))
  const content =
    isOfUpstream(skill) && !isForPerson(context) ? asUntrusted(withDeceitEscaped(text), skill.upstream) : text
  const approve = verdict.state === 'waiting' ? { approve: lineFor([name], declarationsId([{ row, skill }])) } : {}
  const requests = requestsIn(skill.frontmatter)
  return { source, path, uri, upstream, state: verdict.state, ...approve, digest, requests, content }
}

/** A source with something that waits, and the name of that in it. */
interface WaitingNamed {
  readonly source: Source
  readonly path: string
}

function waitingNamed(config: ServedConfig, asked: string): WaitingNamed {
  const [id = '', ...rest] = asked.split('/')
  const [source] = sourcesNamed([id], config)
  const path = rest.join('/')
  if (source === undefined || path === '')
    throw new UsageError(`--waiting wants SOURCE/PATH or SOURCE/NAME, and "${asked}" is neither`)
  return { source: configuredIn(config, source).source, path }
}

/** The file in the commit of its source that waits for approval. */
async function waitingPreview(
  context: Context,
  config: ServedConfig,
  { source: configured, path }: WaitingNamed,
  named: string,
): Promise<Preview> {
  const { id: source } = configured
  return withStoreAndWriter(context, config, async (looking) => {
    const waiting = await looking.ask(waitingRequest, { source, verb: 'approve' })
    const { skills, docs } = await readCandidate(looking, source, waiting.commit)
    const skill = skills.find((one) => one.path === path) ?? skills.find(({ name }) => name === path)
    const found = skill ?? (path === configured.docs ? docs : undefined)
    if (found === undefined)
      throw new OperatorError('unknown-skill', `No skill is called "${path}" in ${waiting.commit} of "${source}"`)
    const file = fileOf(found, named, `${source}/${path}`)
    const text = shownText(await looking.store.skills.read(storedOf(found), file))
    const content = isForPerson(context) ? text : withDeceitEscaped(text)
    const approve = `skillsyncd approve ${source} ${waiting.tag ?? waiting.commit}`
    const known = {
      source,
      path: skill?.path ?? path,
      uri: undefined,
      upstream: undefined,
      state: 'waiting',
      approve,
    } as const
    return {
      ...known,
      digest: found.digest && digestText(found.digest),
      requests: requestsIn(skill?.frontmatter),
      content,
    }
  })
}

/** The text of a file. Of bytes that are none, those beyond ASCII are written out: nothing is shown that is not there. */
function shownText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  return bytes.toString('latin1').replaceAll(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`)
}

function fileOf({ files }: Pick<Skill, 'files'>, named: string, skill: string): SkillFile {
  const file = files.find(({ path }) => path === named)
  if (file !== undefined) return file
  const known = files.map(({ path }) => path)
  const near = closestTo(named, known)
  const tries = near === undefined ? `it has ${known.slice(0, 10).join(', ')}` : `did you mean "${near}"?`
  throw new OperatorError('unknown-skill', `"${skill}" has no file "${named}"; ${tries}`)
}

const DOCUMENT = 'SKILL.md'

/** True on a terminal. Output to a file or to another program may reach a model. */
function isForPerson({ json, streams }: Context): boolean {
  return !json && streams.stdout.isTTY === true
}

async function bytesOf(context: Context, config: ServedConfig, skill: Skill, file: SkillFile): Promise<Buffer> {
  using store = await Store.open(config.state)
  if (!isOfUpstream(skill)) return await store.skills.read(storedSkill(skill), file)
  const { source } = skill.upstream
  const kept = await readKept(skill, file, { store, config }, context.signal)
  if (kept.kind === 'whole') return Buffer.from(kept.bytes)
  await withWriter(context, config, (ask) => ask(bringRequest, { source, path: skill.path, file: file.path }))
  const brought = await readKept(skill, file, { store, config }, context.signal)
  if (brought.kind === 'whole') return Buffer.from(brought.bytes)
  throw new OperatorError('unknown-skill', `Cannot preview "${source}/${skill.path}": its file is not in the store`)
}

function print(context: Context, found: Preview): void {
  if (context.json) {
    printJson(context, found)
    return
  }
  const { source, path, upstream, approve, digest, requests, content } = found
  const from = upstream === undefined ? source : `the MCP server "${source}", where it is ${upstream}`
  printLines(context, [
    `${printableLine(`${source}/${path}`)}: from ${printableLine(from)}`,
    ...(digest === undefined ? [] : [`digest ${digest}`]),
    ...(approve === undefined ? [] : [printableLine(`it waits for ${approve}`)]),
    ...requestLines(requests).map(printableLine),
    '',
    ...content.split('\n').map((line) => printableText(line.replace(/\r$/, ''))),
  ])
}
