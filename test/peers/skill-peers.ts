import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import * as newest from '@olaservo/ext-skills/client'
import * as older from 'ext-skills-0.12/client'
import { CLIENTS } from '../e2e/clients.ts'
import type { ClientName, Place } from '../e2e/clients.ts'
import type { Ended } from '../support/process/program.ts'
import { INSPECTOR, runForeign } from './foreign.ts'

/** What a peer read and found to be what the entry of a skill promises: by the URI of the skill, its files with their digests. */
export type Verified = ReadonlyMap<string, Readonly<Record<string, string>>>

/** Of a skill with more files a client reads so many: for each, the one of 2026-07-28 checks the whole entry anew. */
export const MOST_FILES = 64

/** Lists the skills with one of the published clients, asks for each alone, and reads its files. */
export async function readWithClient(name: ClientName, place: Place): Promise<Verified> {
  await using client = await CLIENTS[name](place)
  const verified = new Map<string, Record<string, string>>()
  for (const listed of await client.list()) {
    const entry = await client.get(listed.uri)
    const digests: Record<string, string> = {}
    for (const { uri } of entry.resources.slice(0, MOST_FILES)) digests[uri] = digestOf(await client.read(listed, uri))
    verified.set(listed.uri, digests)
  }
  return verified
}

/** The client side of `@olaservo/ext-skills`, as far as its versions have it in common. */
type Library = Pick<typeof newest, 'listSkills' | 'getSkill' | 'readSkill' | 'readSkillResource' | 'walkDirectory'>
// The older one knows no skill whose files are "dynamic", and no sizes; else it takes and gives the same.
const EXT_SKILLS = { '0.14.0': newest, '0.12.1': older as unknown as Library } satisfies Record<string, Library>
export type ExtSkillsVersion = keyof typeof EXT_SKILLS

/** What a peer found of one skill: its files, those that a walk through its folder comes by, and why it refused to read it. */
export interface ReadByExtSkills {
  readonly verified: Verified
  readonly walked: ReadonlyMap<string, readonly string[]>
  readonly refused: ReadonlyMap<string, string>
}

/** The same with that library: it checks digests and frontmatter by itself. */
export async function readWithExtSkills(
  version: ExtSkillsVersion,
  mode: VersionNegotiationMode,
  place: Place,
): Promise<ReadByExtSkills> {
  const library: Library = EXT_SKILLS[version]
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(
    'url' in place ? new StreamableHTTPClientTransport(new URL(place.url)) : new StdioClientTransport(place),
  )
  const verified = new Map<string, Record<string, string>>()
  const walked = new Map<string, readonly string[]>()
  const refused = new Map<string, string>()
  try {
    // Its types tell a field that is not there from one that is undefined less exactly than ours.
    const host = client as unknown as newest.SkillsClient
    for (const listed of await library.listSkills(host)) {
      const entry = await library.getSkill(host, listed.uri)
      const digests: Record<string, string> = {}
      await library.readSkill(host, listed).then(
        (text) => (digests[entry.uri] = digestOf(text)),
        (error: Error) => refused.set(entry.uri, error.message),
      )
      for (const { uri } of Array.isArray(entry.resources) ? entry.resources : []) {
        const { text, blob } = await library.readSkillResource(host, listed, uri)
        digests[uri] = digestOf(text ?? Buffer.from(blob ?? '', 'base64'))
      }
      verified.set(entry.uri, digests)
      const files = await library.walkDirectory(host, dirname(entry.uri))
      walked.set(entry.uri, files.map(({ uri }) => uri).toSorted())
    }
  } finally {
    await client.close()
  }
  return { verified, walked, refused }
}

export type InspectorEra = 'legacy' | 'auto' | 'modern'

/** What the inspector says of one skill, as a line of JSON. */
export interface InspectorReport {
  readonly uri: string
  readonly outcome: string
  /** Why it did not read every file. */
  readonly incomplete?: string
  readonly conformance: readonly { readonly severity: string; readonly code: string }[]
  readonly frontmatter: readonly unknown[]
  readonly files: readonly { readonly uri: string; readonly status: string; readonly actualDigest?: string }[]
}

/**
 * Has the inspector list the skills, and read and verify each. A program it starts in the folder that holds our
 * configuration: an option that is called as one of its own it takes for its own.
 */
export async function inspect(
  era: InspectorEra,
  place: Place,
  folder: string,
): Promise<Ended & { readonly reports: readonly InspectorReport[] }> {
  const target = 'url' in place ? [place.url] : [place.command, ...place.args.slice(0, place.args.indexOf('--config'))]
  const how = ['--transport', 'url' in place ? 'http' : 'stdio', '--cwd', folder, '--protocol-era', era]
  const ended = await runForeign(INSPECTOR, [...target, ...how, '--method', 'skills/list', '--verify'])
  const reports = ended.stdout.split('\n').filter(Boolean)
  return { ...ended, reports: reports.map((line) => JSON.parse(line)) }
}

export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
