import { Client, StreamableHTTPClientTransport, type McpSubscription } from '@modelcontextprotocol/client'
import { SkillsClient, SkillVerificationError, type Skill } from '@modelcontextprotocol/client/ext/skills'
import { DOCTOR_CLIENT } from '../../../serve/version.ts'
import { DigestMismatchError, type ClientOptions, type EraClient, type ListedSkill } from './era-client.ts'

/** Opens the client of 2026-07-28, which verifies the files that it reads. */
export function openClient2026({ url, fetch, version }: ClientOptions): EraClient {
  const client = new Client({ name: DOCTOR_CLIENT, version }, { versionNegotiation: { mode: { pin: REVISION } } })
  const skills = new SkillsClient(client)
  const entries = new Map<string, Skill>()
  let subscription: McpSubscription | undefined
  return {
    name: '@modelcontextprotocol/client',
    async open(signal) {
      await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetch.fetch }), { signal })
      return client.getNegotiatedProtocolVersion() ?? REVISION
    },
    async list(signal) {
      const { skills: listed } = await skills.list({}, { signal })
      for (const skill of listed) entries.set(skill.uri, skill)
      return listed.map(listedSkill)
    },
    async read({ uri }, file, signal) {
      const entry = entries.get(uri)
      if (entry === undefined) throw new TypeError(`The skill ${uri} was not listed`)
      try {
        await skills.read(entry, file.uri, { signal })
      } catch (error) {
        throw error instanceof SkillVerificationError ? new DigestMismatchError(error.message, { cause: error }) : error
      }
    },
    async subscribe(uri, signal) {
      subscription = await client.listen({ resourceSubscriptions: [uri], resourcesListChanged: true }, { signal })
    },
    async unsubscribe() {
      await subscription?.close()
    },
    async close() {
      await client.close()
    },
  }
}

const REVISION = '2026-07-28'

function listedSkill({ uri, resources }: Skill): ListedSkill {
  return { uri, files: Array.isArray(resources) ? resources : [] }
}
